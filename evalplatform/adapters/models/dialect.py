"""What one HTTP API of chat models has of its own: where to post, how a request is worded, how a reply reads. Pure, no sockets."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from evalplatform.kernel.errors import FatalCallError, UnusableReplyError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import FinishReason, Sampling

JsonObject = dict[str, Any]


class ParsedReply(NamedTuple):
    """What a reply's body says, before the client adds how long it took."""

    text: str
    finish_reason: FinishReason | None
    usage: Usage
    model_returned: str | None


class StreamedBody(Protocol):
    """Gathers the events of one streamed reply into the body that the API would have sent unstreamed."""

    @property
    def started(self) -> bool:
        """Whether the model has sent its first piece of text, reasoning included."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the server said that the reply is complete."""
        ...

    def add(self, event: JsonObject) -> None:
        """Take the next event."""
        ...

    def body(self) -> JsonObject:
        """Return the gathered body."""
        ...


class Dialect(Protocol):
    """One API. A new API of this kind is one class of this shape."""

    @property
    def path(self) -> str:
        """What is appended to the endpoint's base URL."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that carry the key; none where there is no key."""
        ...

    def request_body(self, model: str, messages: list[JsonObject], sampling: Sampling, *, stream: bool) -> JsonObject:
        """Return what is posted. Sampling that is None is left out.

        Raises:
            FatalCallError: `sampling.extra` sets what the request itself decides.
        """
        ...

    def parsed(self, body: JsonObject, *, who: str) -> ParsedReply:
        """Return the reply a body holds.

        Raises:
            UnusableReplyError: the body is JSON but not a reply.
        """
        ...

    def streamed_body(self) -> StreamedBody:
        """Return an empty gatherer."""
        ...


def with_extra(body: JsonObject, extra: Mapping[str, object]) -> JsonObject:
    """Return the body with a provider's own parameters added as they are.

    Raises:
        FatalCallError: one of them is already set, so that one of the two values would be lost in silence.
    """
    taken = sorted(body.keys() & extra.keys())
    if taken:
        raise FatalCallError("bad_request", f"sampling.extra sets {', '.join(taken)}, which the request itself sets; remove it there.")
    return {**body, **extra}


def token_count(counts: object, name: str) -> int | None:
    """Return a count of a usage object, or None where it is missing or no count."""
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def unusable(reason: str, who: str, what: str) -> UnusableReplyError:
    """Return the error of an answer that is not a reply."""
    return UnusableReplyError(reason, f"{who} answered with {what}.", status=200)
