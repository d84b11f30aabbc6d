"""An agent that lets the secret that it was given slip out, one way a run. The standard library alone: it runs by itself.

The user's first message names the way. As a program it speaks the JSON contract over standard input and output; as a module it has `reply`.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

SECRET_VARIABLE = "LEAKY_KEY"

if os.environ.get("LEAKS_AT_IMPORT"):
    raise RuntimeError(f"cannot begin with {os.environ[SECRET_VARIABLE]}")


def with_call(messages: list[Any], tool: str) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": "{no json"}}
    return {"messages": [*messages, {"role": "assistant", "content": None, "tool_calls": [call]}]}


# What is returned is sent as JSON, a text as it is.
LEAKS: dict[str, Callable[[list[Any], str], Any]] = {
    "reason": lambda messages, key: {"messages": messages, "ended": "agent_error", "reason": f"refused: {key}"},
    "reason, where it is clipped": lambda messages, key: {"messages": messages, "ended": "agent_error", "reason": "x" * 585 + key},
    "role": lambda messages, key: {"messages": [*messages, {"role": key, "content": "hi"}]},
    "field": lambda messages, key: {"messages": messages, key: 1},
    "answered call": lambda messages, key: {"messages": [*messages, {"role": "tool", "tool_call_id": key, "content": ""}]},
    "tool": with_call,
    "no JSON": lambda messages, key: f"<p>{key}",
    "no JSON, where it is clipped": lambda messages, key: f"<p>{'x' * 60} {key}",
    "no JSON, behind much space": lambda messages, key: f"{' ' * 310}{key}",
}


def reply(request: dict[str, Any]) -> Any:
    """The reply to a request of the contract."""
    way, key = request["messages"][0]["content"], os.environ[SECRET_VARIABLE]
    if way == "exception":
        raise ValueError("x" * 570 + key)
    if way == "exit":
        print("x" * 300, key, "y" * 380, file=sys.stderr, flush=True)
        os._exit(3)
    return LEAKS[way](request["messages"], key)


if __name__ == "__main__":
    said = reply(json.loads(sys.stdin.buffer.read()))
    sys.stdout.write(said if isinstance(said, str) else json.dumps(said))
