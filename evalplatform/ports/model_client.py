"""The model port: one request, one reply, typed failures."""

from typing import Literal, Protocol

from pydantic import Field

from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value

LARGEST_TOKENS = 2**31 - 1
LARGEST_SEED = 2**63 - 1
"""Seeds fit into 64 bits, which is what JSON writers and servers take."""

FinishReason = Literal["stop", "length", "content_filter", "other"]


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(Value):
    """How a reply is drawn. None means the provider's default, and then the parameter is not sent at all.

    `seed` is the seed of draw 0: draw d sends `seed + d`. `extra` holds provider parameters that are sent as they are.
    """

    temperature: float | None = Field(default=None, strict=True, ge=0)
    top_p: float | None = Field(default=None, strict=True, gt=0, le=1)
    max_tokens: int | None = Field(default=None, strict=True, ge=1, le=LARGEST_TOKENS)
    seed: int | None = Field(default=None, strict=True, ge=-LARGEST_SEED - 1, le=LARGEST_SEED)
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict)


class ModelRequest(Value):
    """Everything that decides what a model is asked. Its digest (`calls.request_digest`) is the ledger key."""

    provider: str
    base_url: str | None = None
    model: str
    messages: tuple[Message, ...] = Field(min_length=1)
    sampling: Sampling = Sampling()

    def prompt_text(self) -> str:
        """Return all message contents joined by blank lines, for counting and auditing."""
        return "\n\n".join(message.content for message in self.messages)


class ModelReply(Value):
    """What a model answered.

    `text` is what a user would see; it may be empty (a reasoning model that spent its budget), which is not a wrong answer.
    `time_to_first_token_seconds` is None unless the reply was streamed.
    """

    text: str
    finish_reason: FinishReason | None = None
    usage: Usage = Usage()
    latency_seconds: float = Field(ge=0)
    time_to_first_token_seconds: float | None = Field(default=None, ge=0)
    model_returned: str | None = None


class ModelClient(Protocol):
    """A connection to one endpoint. One instance serves many concurrent calls.

    It makes exactly one attempt: SDK retries are off, since retry, limits and the breaker live in `calls`.
    """

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply.

        Raises:
            RetryableCallError: rate limit, overload, timeout, connection lost.
            FatalCallError: wrong key, unknown model, bad request.
            UnusableReplyError: the server's answer is not a reply (no choices, not JSON).
        """
        ...

    async def aclose(self) -> None:
        """Close connections; calling it twice is fine."""
        ...
