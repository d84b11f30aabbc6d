"""An HTTP proxy that stands between a client and a real server and does on demand what networks and servers do wrong.

What happens is a list of faults, looked through from the first for every request; one that fits is used up after `times` requests. A
request that no fault fits goes through unchanged, its Host header included, so that its signature holds.
"""

import http.client
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Kind = Literal["status", "reset", "lost", "cut", "changed", "slow"]
FOR_EVER = 10**9
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "proxy-connection"}


@dataclass
class Fault:
    """What goes wrong with the next `times` requests of a method whose path holds `path`, after the first `after` of them went well.

    `status`: answered with that status, not passed on. `reset`: the connection is reset, nothing passed on. `lost`: passed on, and the
    connection reset in place of the answer. `cut`: the body ends after its first half. `changed`: a byte of the body is another. `slow`:
    the answer comes after `seconds`.
    """

    kind: Kind
    method: str = ""
    path: str = ""
    times: int = 1
    after: int = 0
    status: int = 503
    seconds: float = 0.0

    def fits(self, method: str, path: str) -> bool:
        """Say whether it happens to this request, which is counted."""
        if self.times == 0 or self.method not in ("", method) or self.path not in path:
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        return True


@dataclass
class FaultProxy:
    """A running proxy. `down` resets every connection until it is false again; `requests` holds what was asked, in order."""

    upstream: str
    port: int = 0
    down: bool = False
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, kind: Kind, **settings: object) -> Fault:
        fault = Fault(kind, **settings)  # type: ignore[arg-type]
        self.faults.append(fault)
        return fault

    def count(self, method: str, path: str = "") -> int:
        return sum(asked == method and path in where for asked, where in list(self.requests))

    def fault_of(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.requests.append((method, path))
            if self.down:
                return Fault("reset")
            return next((fault for fault in self.faults if fault.fits(method, path)), None)


@contextmanager
def running_fault_proxy(upstream: str) -> Iterator[FaultProxy]:
    """Run a proxy before the server at the URL `upstream`."""
    proxy = FaultProxy(upstream)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    proxy.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: connections that break are what this is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault_of(self.command, self.path)
        kind = None if fault is None else fault.kind
        if fault is not None and kind == "status":
            self._answer(fault.status, [], b"<Error><Code>ServiceUnavailable</Code><Message>scripted</Message></Error>")
            return
        if kind == "reset":
            self._reset()
            return
        if fault is not None and kind == "slow":
            time.sleep(fault.seconds)
        status, headers, answer = self._passed_on(body)
        if kind == "lost":
            self._reset()
        elif kind == "changed" and answer:
            middle = len(answer) // 2
            self._answer(status, headers, answer[:middle] + bytes([answer[middle] ^ 1]) + answer[middle + 1 :])
        else:
            self._answer(status, headers, answer, cut=kind == "cut")

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do  # noqa: N815 - the base class names them

    def _passed_on(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.proxy.upstream).netloc, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP and name.lower() != "expect":
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool = False) -> None:
        length = next((value for name, value in headers if name.lower() == "content-length"), None) if self.command == "HEAD" else None
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP | {"content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def _reset(self) -> None:
        """End the connection with a reset in place of a polite end."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass
