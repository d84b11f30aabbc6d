"""Chat messages for tests, as short to write as a conversation."""

import json
from pathlib import Path

Message = dict[str, object]


def user(text: object) -> Message:
    """What the user says."""
    return {"role": "user", "content": text}


def said(text: object) -> Message:
    """What the agent says without a call."""
    return {"role": "assistant", "content": text}


def call(call_id: str | None, tool: object = "lookup", arguments: object = "{}") -> Message:
    """One call, to be put into `calls`."""
    return {"id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls(*made: Message, text: str | None = None) -> Message:
    """An agent's message with calls."""
    return {"role": "assistant", "content": text, "tool_calls": list(made)}


def result(call_id: str | None, text: object = "done") -> Message:
    """What a tool answered."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def write_lines(path: Path, *values: object) -> Path:
    """Write a file of JSON Lines."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path
