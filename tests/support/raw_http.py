"""What HTTP servers say that no well-behaved one says: talks for `tests.support.raw_server`, each after it has read a whole request."""

import re
import socket
import ssl
from collections.abc import Iterable

from tests.support.raw_server import Talk

_LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)


def answering(*pieces: bytes, requests: list[bytes] | None = None) -> Talk:
    """Answer with some bytes, and close. The request is added to `requests`."""

    def talk(connection: socket.socket) -> None:
        request = read_request(connection)
        if requests is not None:
            requests.append(request)
        for piece in pieces:
            connection.sendall(piece)

    return talk


def endless(beginning: bytes, piece: bytes) -> Talk:
    """Answer with a beginning and then with the same piece until the other side has had enough."""

    def talk(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(beginning)
        while True:
            connection.sendall(piece)

    return talk


def after_request(talk: Talk) -> Talk:
    """Read a request first."""

    def later(connection: socket.socket) -> None:
        read_request(connection)
        talk(connection)

    return later


def over_tls(context: ssl.SSLContext, talk: Talk) -> Talk:
    """Talk behind a handshake; one that fails ends the connection."""

    def wrapped(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            talk(secured)

    return wrapped


def head(status: str = "200 OK", *fields: str) -> bytes:
    """Return the head of an answer."""
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode("latin-1")


def read_request(connection: socket.socket) -> bytes:
    """Return one request, its body by its Content-Length."""
    read = b""
    for piece in _pieces(connection):
        read += piece
        beginning, end, body = read.partition(b"\r\n\r\n")
        length = _LENGTH.search(beginning)
        if end and len(body) >= (int(length[1]) if length else 0):
            break
    return read


def _pieces(connection: socket.socket) -> Iterable[bytes]:
    while piece := connection.recv(65_536):
        yield piece
