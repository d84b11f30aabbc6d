"""A model that says what it is told to: the double for tests, demos and dry runs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable

from evalplatform.kernel.errors import FatalCallError
from evalplatform.ports.model_client import ModelReply, ModelRequest

ScriptedReply = str | ModelReply | Exception
Script = Callable[[ModelRequest], ScriptedReply | Awaitable[ScriptedReply]]


class ScriptedClient:
    """Replies from a function or from a list, and keeps what it was asked.

    A string becomes a reply with finish reason `stop`, no usage and no latency; an exception is raised. A list is used up in the order of
    the calls, and a call after its end is a FatalCallError. The function may be async, to wait on an event of its own.

    Args:
        script: the function, or the replies.
        gate: an event that every call waits for before it replies, to hold calls in flight.

    Attributes:
        requests: every request, in the order in which the calls began.
        in_flight: calls that have begun and not ended.
        most_in_flight: the largest number of calls that were in flight at once.
        closed: whether `aclose` was called.
    """

    def __init__(self, script: Script | Iterable[ScriptedReply], *, gate: asyncio.Event | None = None) -> None:
        self._script: Script = script if callable(script) else _from_list(list(script))
        self._gate = gate
        self.requests: list[ModelRequest] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.closed = False

    @property
    def calls(self) -> int:
        """How many calls began."""
        return len(self.requests)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return what the script says, or raise it."""
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            said = self._script(request)
            if self._gate is not None:
                await self._gate.wait()
            reply = await said if isawaitable(said) else said
        finally:
            self.in_flight -= 1
        if isinstance(reply, Exception):
            raise reply
        return ModelReply(text=reply, finish_reason="stop", latency_seconds=0.0) if isinstance(reply, str) else reply

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def _from_list(replies: list[ScriptedReply]) -> Script:
    left = iter(replies)

    def next_reply(_: ModelRequest) -> ScriptedReply:
        return next(left, FatalCallError("script_ended", f"The script has {len(replies)} replies; it was asked for one more."))

    return next_reply
