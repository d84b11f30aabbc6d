"""Connections that end in time: a receiver that drips, or that never stops talking, holds nothing up."""

import socket
import ssl
from threading import Timer
from time import monotonic
from types import TracebackType


class TimeLimit:
    """So many seconds for all that is said over the connections of a body. Use it as a context manager.

    A socket's own timeout begins anew with every byte that comes. This one does not: when it is over, the connection is shut, and whoever
    reads or writes on it fails. Looking a name up is bounded by the system's resolver.

    Args:
        seconds: from the beginning of the body.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = monotonic() + seconds
        self._cuts: list[tuple[Timer, socket.socket]] = []

    def __enter__(self) -> "TimeLimit":
        self._ends_at = monotonic() + self.seconds
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        while self._cuts:
            timer, watched = self._cuts.pop()
            timer.cancel()
            timer.join()  # a cut that is under way must not find the descriptor of another socket
            watched.close()

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self._ends_at

    def connect(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> socket.socket:
        """Return a connection that is shut when the time is over; with `tls`, after a handshake that checks the host's certificate.

        Raises:
            OSError: no connection, or no handshake (ssl.SSLError is one).
        """
        connected = self._connected(host, port)
        watched = connected.dup()  # one that stays when the other is wrapped in TLS
        timer = Timer(self._left_seconds(), _shut, args=(watched,))
        timer.daemon = True
        timer.start()
        self._cuts.append((timer, watched))
        if tls is None:
            return connected
        try:
            return tls.wrap_socket(connected, server_hostname=host)
        except BaseException:
            connected.close()
            raise

    def failure_words(self, error: Exception) -> str:
        """Return why something over a connection failed, in a few words."""
        if self.is_over or isinstance(error, TimeoutError):
            return f"no answer within {self.seconds:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"no TLS connection: {error.reason or 'it failed'}"
        if isinstance(error, socket.gaierror):
            return "its name is not known"
        return getattr(error, "strerror", None) or str(error) or type(error).__name__

    def _connected(self, host: str, port: int) -> socket.socket:
        """Return a connection to the first address of the host that takes one; each gets its part of the time."""
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        failure = OSError("no connection")
        for number, (family, kind, protocol, _, place) in enumerate(places):
            tried = socket.socket(family, kind, protocol)
            try:
                tried.settimeout(self._left_seconds() / (len(places) - number))
                tried.connect(place)
            except OSError as error:
                tried.close()
                failure = error
            else:
                tried.settimeout(self._left_seconds())
                return tried
        raise failure

    def _left_seconds(self) -> float:
        return max(0.001, self._ends_at - monotonic())  # a socket takes 0 for "do not wait"


def _shut(watched: socket.socket) -> None:
    try:
        watched.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself
