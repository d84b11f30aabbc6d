"""Whether an address answers: a connection or a plain request, nothing that is paid for."""

import socket
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.ports.clock import Clock

PORTS = {"http": 80, "https": 443}


class Fetched(Value):
    """What a server said. `clock_ahead_seconds` is how far its clock is ahead of ours, or None where it does not say."""

    status: int
    body: bytes
    clock_ahead_seconds: float | None


def unreachable_reason(url: str, *, timeout_seconds: float) -> str | None:
    """Return why no connection to the host of an http or https address can be made, or None where one can."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or PORTS[parts.scheme]), timeout=timeout_seconds):
            return None
    except OSError as error:
        return error.strerror or str(error)


def fetch(url: str, *, timeout_seconds: float, clock: Clock) -> Fetched | None:
    """Return what a GET of the address gives, whatever its status, or None where nobody answers.

    Raises:
        InputError: the address is not http or https.
    """
    if urlsplit(url).scheme not in PORTS:
        raise InputError(f"{url!r} is no http or https address.")
    try:
        with urlopen(url, timeout=timeout_seconds) as response:
            return _fetched(response.status, response.read(), response.headers.get("Date"), clock)
    except HTTPError as error:
        with error:
            return _fetched(error.code, error.read(), error.headers.get("Date"), clock)
    except (OSError, HTTPException):
        return None


def _fetched(status: int, body: bytes, date: str | None, clock: Clock) -> Fetched:
    ahead = None if date is None else (parsedate_to_datetime(date) - clock.now()).total_seconds()
    return Fetched(status=status, body=body, clock_ahead_seconds=ahead)
