"""Server-sent events: bytes in, event payloads out."""


class SseDecoder:
    """Cuts a byte stream into the `data` payloads of its events.

    Line ends may be LF, CRLF or split between chunks; comments and the fields `event`, `id` and `retry` are passed over, since every model
    API repeats the event's type inside its data. Several `data` lines of one event are joined with a newline (HTML standard, 9.2).
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payloads of the events that this chunk completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        events = []
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line and self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
        return events

    def close(self) -> list[bytes]:
        """Return the payload of a last event that no blank line ended; some servers leave it out."""
        return self.feed(b"\n\n")
