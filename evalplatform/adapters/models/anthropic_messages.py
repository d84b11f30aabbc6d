"""The Anthropic messages API."""

from dataclasses import dataclass, field

from evalplatform.adapters.models.dialect import JsonObject, ParsedReply, token_count, unusable, with_extra
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import FinishReason, Sampling

API_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4_096  # the API demands a number; this is ours where the project states none

_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@dataclass(frozen=True)
class AnthropicMessages:
    """The messages dialect. System messages become the `system` text; a seed is not sent, since the API has none."""

    path: str = "/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key and version headers."""
        version = {"anthropic-version": API_VERSION}
        return version if key is None else {**version, "x-api-key": key}

    def request_body(self, model: str, messages: list[JsonObject], sampling: Sampling, *, stream: bool) -> JsonObject:
        """Return the body; `max_tokens` is 4,096 where the sampling states none."""
        body: JsonObject = {
            "model": model,
            "messages": [message for message in messages if message["role"] != "system"],
            "max_tokens": sampling.max_tokens or DEFAULT_MAX_TOKENS,
            "stream": stream,
        }
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        for name, value in (("system", system or None), ("temperature", sampling.temperature), ("top_p", sampling.top_p)):
            if value is not None:
                body[name] = value
        return with_extra(body, sampling.extra)

    def parsed(self, body: JsonObject, *, who: str) -> ParsedReply:
        """Return the text blocks joined; thinking and tool blocks are not what a user sees. No block at all is an empty text.

        Raises:
            UnusableReplyError: `no_message`.
        """
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise unusable("no_message", who, "a body without content blocks")
        texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
        reason = body.get("stop_reason")
        return ParsedReply(
            text="".join(texts),
            finish_reason=None if reason is None else _FINISH_REASONS.get(str(reason), "other"),
            usage=_usage(body.get("usage")),
            model_returned=model if isinstance(model := body.get("model"), str) else None,
        )

    def streamed_body(self) -> "StreamedMessage":
        """Return an empty gatherer."""
        return StreamedMessage()


@dataclass
class StreamedMessage:
    """Gathers the events between `message_start` and `message_stop`."""

    started: bool = False
    finished: bool = False
    _message: JsonObject = field(default_factory=dict)
    _pieces: list[str] = field(default_factory=list)

    def add(self, event: JsonObject) -> None:
        """Take the next event; types that are not known, such as `ping`, are passed over as the API asks."""
        match event.get("type"):
            case "message_start":
                self._message = dict(_object(event.get("message")))
            case "content_block_start":
                self._add_piece(_object(event.get("content_block")))
            case "content_block_delta":
                self._add_piece(_object(event.get("delta")))
            case "message_delta":
                # The usage of a delta is cumulative: it replaces what the start said (Anthropic, "Streaming messages").
                usage = {**_object(self._message.get("usage")), **_object(event.get("usage"))}
                self._message = {**self._message, **_object(event.get("delta")), "usage": usage}
            case "message_stop":
                self.finished = True

    def _add_piece(self, piece: JsonObject) -> None:
        text = piece.get("text")
        if isinstance(text, str) and text:
            self._pieces.append(text)
            self.started = True
        elif piece.get("thinking"):
            self.started = True

    def body(self) -> JsonObject:
        """Return the message as it would have come unstreamed."""
        return {**self._message, "content": [{"type": "text", "text": "".join(self._pieces)}]}


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _usage(counts: object) -> Usage:
    """Return the usage; the API's `input_tokens` leave out what the cache read and wrote, ours count the whole prompt."""
    uncached = token_count(counts, "input_tokens")
    read = token_count(counts, "cache_read_input_tokens")
    written = token_count(counts, "cache_creation_input_tokens")
    return Usage(
        prompt_tokens=None if uncached is None else uncached + (read or 0) + (written or 0),
        completion_tokens=token_count(counts, "output_tokens"),
        cache_read_tokens=read,
    )
