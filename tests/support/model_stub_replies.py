"""What the model stub says, as bodies and events of the two APIs it speaks. Pure."""

import hashlib
import json
import re
from typing import Any

import orjson

JUDGE_DIMENSIONS = ("correctness", "completeness", "specificity", "code_quality", "actionability")

Json = dict[str, Any]
Settings = dict[str, str]


def derived_reply(prompt: str) -> str:
    """The reply to a prompt: the same every time, another for another prompt; scores in JSON when it names a judge's five dimensions."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    if not all(name in prompt for name in JUDGE_DIMENSIONS):
        return f"Reply {digest.hex()[:8]}: " + " ".join(prompt.split()[-12:])
    names = (*JUDGE_DIMENSIONS, "factual_grounding") if "factual_grounding" in prompt else JUDGE_DIMENSIONS
    scores = {name: byte % 101 for name, byte in zip(names, digest, strict=False)}
    return json.dumps({**scores, "aggregate": round(sum(scores.values()) / len(scores), 1)})


def completion_body(model: str, text: str, *, prompt: str, settings: Settings) -> Json:
    """A chat completion. `settings` may fix finish, prompt_tokens, completion_tokens, cached_tokens and reasoning_tokens."""
    counts = _counts(text, prompt, settings)
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": f"{model}-returned",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": settings.get("finish", "stop")}],
        "usage": {
            "prompt_tokens": counts["prompt"],
            "completion_tokens": counts["completion"],
            "total_tokens": counts["prompt"] + counts["completion"],
            "prompt_tokens_details": {"cached_tokens": counts["cached"]},
            "completion_tokens_details": {"reasoning_tokens": counts["reasoning"]},
        },
    }


def message_body(model: str, text: str, *, prompt: str, settings: Settings) -> Json:
    """An Anthropic message; the same settings."""
    counts = _counts(text, prompt, settings)
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": f"{model}-returned",
        "content": [{"type": "text", "text": text}],
        "stop_reason": settings.get("finish", "end_turn"),
        "usage": {
            "input_tokens": counts["prompt"] - counts["cached"],
            "cache_read_input_tokens": counts["cached"],
            "output_tokens": counts["completion"],
        },
    }


def completion_events(whole: Json, text: str, *, with_usage: bool) -> list[bytes]:
    """The chunks that a chat completion is streamed in."""
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}
    events = [{**base, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in _pieces(text)]
    events.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}]})
    if with_usage:
        events.append({**base, "choices": [], "usage": whole["usage"]})
    return [b"data: " + orjson.dumps(event) + b"\r\n\r\n" for event in events] + [b"data: [DONE]\n\n"]


def message_events(whole: Json, text: str) -> list[bytes]:
    """The events that an Anthropic message is streamed in."""
    usage = whole["usage"]
    events: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "usage": {**usage, "output_tokens": 1}}}]
    events += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in _pieces(text)]
    ended = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": {"output_tokens": usage["output_tokens"]}}
    events += [ended, {"type": "message_stop"}]
    return [b"event: " + event["type"].encode() + b"\ndata: " + orjson.dumps(event) + b"\n\n" for event in events]


def _counts(text: str, prompt: str, settings: Settings) -> dict[str, int]:
    return {
        "prompt": int(settings.get("prompt_tokens", len(prompt.split()))),
        "completion": int(settings.get("completion_tokens", len(text.split()))),
        "cached": int(settings.get("cached_tokens", 0)),
        "reasoning": int(settings.get("reasoning_tokens", 0)),
    }


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)
