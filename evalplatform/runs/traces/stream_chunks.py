"""Streamed replies put together again: lines of OpenAI's `chat.completion.chunk`."""

from collections.abc import Mapping

from evalplatform.kernel.errors import TraceError

CHUNK_OBJECT = "chat.completion.chunk"
_SEVERAL_CHOICES = "the stream holds several choices; a run has one."


def is_chunk(value: object) -> bool:
    """Return whether a JSON value is one chunk of a streamed reply."""
    return isinstance(value, Mapping) and value.get("object") == CHUNK_OBJECT


class StreamedReply:
    """One reply, growing chunk by chunk.

    Its message says `finish_reason: null` until a chunk brings one: a stream that ends so was cut.
    """

    def __init__(self, chunk: Mapping[str, object]) -> None:
        self._id = chunk.get("id")
        self._pieces: dict[str, list[str]] = {"content": [], "refusal": [], "transcript": []}
        self._calls: dict[int, dict[str, object]] = {}
        self._function: dict[str, object] | None = None
        self._finish_reason: object = None
        self.add(chunk)

    def takes(self, chunk: Mapping[str, object]) -> bool:
        """Return whether a chunk belongs to this reply."""
        return chunk.get("id") == self._id

    def add(self, chunk: Mapping[str, object]) -> None:
        """Add a chunk. Raises TraceError where it holds a second choice, or is no chunk."""
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise TraceError("must be a list.", field="choices")
        if len(choices) > 1:
            raise TraceError(_SEVERAL_CHOICES, field="choices")
        for choice in choices:  # none in the last chunk, which states the usage
            if not isinstance(choice, Mapping):
                raise TraceError("must be a list of objects.", field="choices")
            if choice.get("index", 0) != 0:
                raise TraceError(_SEVERAL_CHOICES, field="choices[].index")
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                self._add_delta(delta)
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    @property
    def message(self) -> dict[str, object]:
        """The assistant's message as far as it came."""
        texts = {name: "".join(pieces) or None for name, pieces in self._pieces.items()}
        calls = [self._calls[index] for index in sorted(self._calls)]
        spoken = {"audio": {"transcript": transcript}} if (transcript := texts.pop("transcript")) else {}
        message: dict[str, object] = {"role": "assistant", **texts, **spoken, "finish_reason": self._finish_reason}
        if calls:
            message["tool_calls"] = calls
        if self._function is not None:
            message["function_call"] = self._function
        return message

    def _add_delta(self, delta: Mapping[str, object]) -> None:
        audio = delta.get("audio")
        said = {**delta, "transcript": audio.get("transcript") if isinstance(audio, Mapping) else None}
        for name, pieces in self._pieces.items():
            if isinstance(piece := said.get(name), str):
                pieces.append(piece)
        if isinstance(function := delta.get("function_call"), Mapping):
            self._function = _joined(self._function or {}, function)
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else []):
            if not isinstance(call, Mapping):
                raise TraceError("must be an object.", field=f"choices[0].delta.tool_calls[{position}]")
            index = call.get("index", position)
            if not isinstance(index, int):
                raise TraceError("must be a whole number.", field=f"choices[0].delta.tool_calls[{position}].index")
            known = self._calls.setdefault(index, {"id": None, "function": {}})
            known["id"] = known["id"] or call.get("id")
            if isinstance(function := call.get("function"), Mapping):
                known["function"] = _joined(known["function"], function)


def _joined(known: object, more: Mapping[str, object]) -> dict[str, object]:
    """Return a function call with another piece of it: its name comes once, its arguments piece by piece."""
    joined: dict[str, object] = dict(known) if isinstance(known, Mapping) else {}
    joined["name"] = joined.get("name") or more.get("name")
    if isinstance(piece := more.get("arguments"), str):
        joined["arguments"] = f"{joined.get('arguments') or ''}{piece}"
    return joined
