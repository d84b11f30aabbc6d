"""The chat completions API: OpenAI's, and every server that speaks it."""

from dataclasses import dataclass, field
from typing import Any

from evalplatform.adapters.models.dialect import JsonObject, ParsedReply, token_count, unusable, with_extra
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import FinishReason, Sampling

_FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "content_filter"}
_REASONING_FIELDS = ("reasoning_content", "reasoning")  # vLLM and DeepSeek; OpenRouter


@dataclass(frozen=True)
class ChatCompletions:
    """The chat completions dialect.

    Args:
        max_tokens_field: `max_tokens` everywhere but at api.openai.com, whose reasoning models take `max_completion_tokens` alone.
    """

    max_tokens_field: str = "max_tokens"
    path: str = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the bearer header."""
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def request_body(self, model: str, messages: list[JsonObject], sampling: Sampling, *, stream: bool) -> JsonObject:
        """Return the body; a stream asks for its usage, which is otherwise not sent."""
        body: JsonObject = {"model": model, "messages": messages, "stream": stream}
        if stream:
            body["stream_options"] = {"include_usage": True}
        for name, value in (
            ("temperature", sampling.temperature),
            ("top_p", sampling.top_p),
            (self.max_tokens_field, sampling.max_tokens),
            ("seed", sampling.seed),
        ):
            if value is not None:
                body[name] = value
        return with_extra(body, sampling.extra)

    def parsed(self, body: JsonObject, *, who: str) -> ParsedReply:
        """Return the first choice. Content that is null is an empty text, and a refusal is what the user would see.

        Raises:
            UnusableReplyError: `no_choices`, `no_message` or `broken_off`.
        """
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            raise unusable("no_choices", who, "no choices")
        choice = choices[0] if isinstance(choices[0], dict) else {}
        message = choice.get("message")
        if not isinstance(message, dict):
            raise unusable("no_message", who, "a choice without a message")
        if choice.get("finish_reason") == "error":  # a gateway whose upstream broke off: what text there is, is half a reply
            raise unusable("broken_off", who, "a choice that ended in an error")
        return ParsedReply(
            text=_text(message.get("content")) or _text(message.get("refusal")),
            finish_reason=_finish_reason(choice.get("finish_reason")),
            usage=_usage(body.get("usage")),
            model_returned=model if isinstance(model := body.get("model"), str) else None,
        )

    def streamed_body(self) -> "StreamedCompletion":
        """Return an empty gatherer."""
        return StreamedCompletion()


@dataclass
class StreamedCompletion:
    """Gathers `chat.completion.chunk` events. It is finished once a chunk has a finish reason: not every server sends `[DONE]`."""

    started: bool = False
    finished: bool = False
    _pieces: dict[str, list[str]] = field(default_factory=lambda: {"content": [], "refusal": []})
    _seen: JsonObject = field(default_factory=dict)
    _has_choice: bool = False
    _finish_reason: Any = None

    def add(self, event: JsonObject) -> None:
        """Take the next chunk; the last ones carry finish reason and usage."""
        for name in ("model", "usage"):
            if event.get(name) is not None:
                self._seen[name] = event[name]
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict) or choices[0].get("index", 0) != 0:
            return
        self._has_choice = True
        delta = choices[0].get("delta")
        if isinstance(delta, dict):
            self._add_delta(delta)
        if choices[0].get("finish_reason") is not None:
            self._finish_reason = choices[0]["finish_reason"]
            self.finished = True

    def _add_delta(self, delta: JsonObject) -> None:
        for name, pieces in self._pieces.items():
            if piece := _text(delta.get(name)):
                pieces.append(piece)
                self.started = True
        if any(delta.get(name) for name in _REASONING_FIELDS):
            self.started = True

    def body(self) -> JsonObject:
        """Return the body as it would have come unstreamed."""
        message = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        choices = [{"message": message, "finish_reason": self._finish_reason}] if self._has_choice else []
        return {**self._seen, "choices": choices}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # parts, as some servers send them; parts that are not text (reasoning) are not what a user sees
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _finish_reason(reason: object) -> FinishReason | None:
    return None if reason is None else _FINISH_REASONS.get(str(reason), "other")


def _usage(counts: object) -> Usage:
    if not isinstance(counts, dict):
        return Usage()
    cached = token_count(counts.get("prompt_tokens_details"), "cached_tokens")
    reasoning = token_count(counts.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(
        prompt_tokens=token_count(counts, "prompt_tokens"),
        completion_tokens=token_count(counts, "completion_tokens"),
        cache_read_tokens=cached if cached is not None else token_count(counts, "prompt_cache_hit_tokens"),  # DeepSeek's name
        reasoning_tokens=reasoning if reasoning is not None else token_count(counts, "reasoning_tokens"),
    )
