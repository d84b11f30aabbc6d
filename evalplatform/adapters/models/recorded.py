"""Replies kept in a file: recorded from one client, replayed without it."""

from pathlib import Path

import orjson
from pydantic import ValidationError

from evalplatform.calls.request_digest import request_digest
from evalplatform.kernel.errors import FatalCallError, InputError
from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import ModelClient, ModelReply, ModelRequest


class Recording(Value):
    """One line of a recording: what was asked, its digest (`calls.request_digest`), what came back."""

    request_digest: str
    request: ModelRequest
    reply: ModelReply


class RecordedClient:
    """Replays a recording. A request that was recorded several times gets its replies in recorded order, then the last one again.

    Args:
        path: a JSON Lines file of recordings; blank lines are passed over.

    Raises:
        InputError: the file is missing, or a line is not a recording or was edited so that its digest no longer fits.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies: dict[str, list[ModelReply]] = {}
        for recording in read_recordings(path):
            self._replies.setdefault(recording.request_digest, []).append(recording.reply)
        self._asked: dict[str, int] = {}

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply.

        Raises:
            FatalCallError: this request was not recorded; the message names its digest.
        """
        digest = request_digest(request)
        replies = self._replies.get(digest)
        if replies is None:
            raise FatalCallError("not_recorded", f"{self._path} holds no reply to the request {digest} ({request.model}).")
        place = self._asked.get(digest, 0)
        self._asked[digest] = place + 1
        return replies[min(place, len(replies) - 1)]

    async def aclose(self) -> None:
        """Nothing is open."""


class RecordingClient:
    """Passes every call on and appends each reply to a file, as a line, before it is returned. Failures are not recorded."""

    def __init__(self, client: ModelClient, path: Path) -> None:
        self._client = client
        self._path = path

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the client's reply, now recorded."""
        reply = await self._client.complete(request)
        recording = Recording(request_digest=request_digest(request), request=request, reply=reply)
        # One short append on the event loop: the line is in the file before the reply is used.
        with self._path.open("ab") as file:
            file.write(recording.model_dump_json().encode() + b"\n")
        return reply

    async def aclose(self) -> None:
        """Close the client behind it."""
        await self._client.aclose()


def read_recordings(path: Path) -> list[Recording]:
    """Return the recordings of a file, in order.

    Raises:
        InputError: naming file and line.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"the recording cannot be read ({error.strerror}).", file=path) from error
    return [_recording(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _recording(line: bytes, path: Path, number: int) -> Recording:
    try:
        recording = Recording.model_validate(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error}.", file=path, line=number) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(f"{first['msg']}.", file=path, line=number, field=field) from error
    digest = request_digest(recording.request)
    if digest != recording.request_digest:
        rule = f"does not fit its request, whose digest is {digest}; record it again."
        raise InputError(rule, file=path, line=number, field="request_digest")
    return recording
