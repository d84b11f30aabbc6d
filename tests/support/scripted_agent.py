"""An agent whose deeds are chosen by the user's first message, for every way to reach one. The standard library alone: it runs by itself.

`do:NAME` picks one of `DEEDS`; any other message is answered, with a tool call on the way. As a program it speaks the JSON contract over
standard input and output; as a module it has `reply` and `reply_later` (async); `tests.support.agent_stub` serves it over HTTP.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SEEN_VARIABLE = "AGENT_SEES"


def conversation(request: Json) -> list[Json]:
    """Every message of the user answered, the first after a look at a file."""
    messages: list[Json] = []
    for number, message in enumerate(request["messages"]):
        messages.append(message)
        if number == 0:
            call = {"id": "call-1", "type": "function", "function": {"name": "look", "arguments": '{"file": "a.txt"}'}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "call-1", "content": "nothing there"})
        messages.append({"role": "assistant", "content": f"heard: {message['content']}"})
    return messages


def breaks(request: Json) -> Json:
    print("on the way", flush=True)
    raise ValueError(f"the agent fell over {os.environ.get(SEEN_VARIABLE, 'nothing')}")


def leaves(request: Json) -> Json:
    os._exit(0)


def exits(request: Json) -> Json:
    print(f"giving up on {os.environ.get(SEEN_VARIABLE, 'nothing')}", file=sys.stderr, flush=True)
    sys.exit(3)


def hangs(request: Json) -> Json:
    """With a child in the background, whose ids it leaves in a file."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    started = Path(request["messages"][1]["content"])
    started.with_suffix(".new").write_text(f"{os.getpid()} {child.pid} {Path.cwd()}")
    started.with_suffix(".new").rename(started)
    time.sleep(300)
    return {}


def leaves_a_child(request: Json) -> Json:
    """Answers, and leaves a child in the background that holds its standard output open."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    return {"messages": conversation(request), "reason": str(child.pid)}


def writes_files(request: Json) -> Json:
    Path("new.txt").write_text("new")
    Path("kept.txt").write_text("other")
    Path("gone.txt").unlink()
    Path("link").symlink_to("/etc/hostname")
    os.mkfifo("pipe")
    Path("closed").mkdir()
    Path("closed", "file.txt").write_text("closed")
    Path("closed").chmod(0o500)
    return {"messages": conversation(request)}


DEEDS = {
    "do:break": breaks,
    "do:leave": leaves,
    "do:exit": exits,
    "do:hang": hangs,
    "do:child": leaves_a_child,
    "do:files": writes_files,
    "do:huge": lambda request: {"messages": [*conversation(request), {"role": "assistant", "content": "x" * 4_000_000}]},
    "do:cost": lambda request: {"messages": conversation(request), "cost_usd": 2.0, "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
    "do:stop": lambda request: {"messages": conversation(request)[:1], "ended": "budget_stop", "reason": "its own budget"},
    "do:added": lambda request: {"messages": conversation(request)[1:]},
    "do:typo": lambda request: {"messages": conversation(request), "cost_used": 2.0},
    "do:see": lambda request: {"messages": [*request["messages"], {"role": "assistant", "content": json.dumps(sorted(os.environ))}]},
    "do:open": lambda request: {"messages": conversation(request)[:2]},
    "do:state": lambda request: {"messages": conversation(request), "files": [{"path": "b.txt", "change": "removed"}]},
    "do:surrogate": lambda request: {"messages": conversation(request), "ended": "agent_error", "reason": "half \ud800"},
}


def reply(request: Json) -> Json:
    """The reply to a request of the contract."""
    deed = DEEDS.get(request["messages"][0]["content"])
    print("what an agent prints is no reply", flush=True)
    return {"messages": conversation(request)} if deed is None else deed(request)


async def reply_later(request: Json) -> Json:
    """The same, as a coroutine."""
    await asyncio.sleep(0)
    return reply(request)


no_function = "a text"

if __name__ == "__main__":
    asked = json.loads(sys.stdin.buffer.read())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    out.write(json.dumps(reply(asked)))
    out.flush()
