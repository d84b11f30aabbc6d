"""Calls one Python function with the request on standard input, and writes one line of JSON to what was standard output.

It is run as a file, with the standard library alone, so that an agent's process loads nothing of this project:
`python python_child.py MODULE:FUNCTION FOLDER`. What it writes is {"reply": ...}, {"broke": why} or {"cannot_start": why}; nothing is
written where the function ends the process. What the function prints goes to standard error.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO


def main() -> int:
    """Call the function; return the exit code."""
    # The reply has a descriptor of its own, which neither the function nor a process that it starts writes to by accident.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.read())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    named, folder = sys.argv[1:]
    sys.argv[1:] = []
    sys.path.insert(0, folder)
    try:
        function = _found(named)
    except Exception as error:
        traceback.print_exc()
        return _written(out, {"cannot_start": f"{named}: {type(error).__name__}: {error}"})
    try:
        reply = function(request)
        if inspect.isawaitable(reply):
            reply = asyncio.run(_awaited(reply))
    except Exception as error:
        traceback.print_exc()
        return _written(out, {"broke": f"{type(error).__name__}: {error}"})
    try:
        return _written(out, {"reply": reply})
    except (TypeError, ValueError, RecursionError) as error:
        return _written(out, {"broke": f"it returned what is no JSON: {error}"})


def _found(named: str) -> Any:
    module, _, attributes = named.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    if not callable(found):
        raise TypeError("it is not callable")
    return found


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _written(out: BinaryIO, said: dict[str, Any]) -> int:
    out.write(json.dumps(said, allow_nan=False).encode())
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
