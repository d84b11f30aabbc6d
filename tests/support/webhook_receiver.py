"""A receiver of webhooks on loopback: it checks signatures as a receiver should, and answers what the test says."""

import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "a secret that both sides know"
MOST_AGE_SECONDS = 300


@dataclass(frozen=True)
class Post:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.body)
        return read

    def is_genuine(self, *, secret: str = SECRET, now_seconds: float) -> bool:
        """Whether it was signed with the secret, and lately."""
        timestamp = self.headers["X-Evalplatform-Timestamp"]
        expected = hmac.new(secret.encode(), f"{timestamp}.".encode() + self.body, hashlib.sha256).hexdigest()
        is_recent = abs(now_seconds - int(timestamp)) <= MOST_AGE_SECONDS
        return is_recent and hmac.compare_digest(self.headers["X-Evalplatform-Signature"], f"v1={expected}")


@dataclass
class WebhookReceiver:
    """What came, and what it is to be answered with."""

    url: str = ""
    posts: list[Post] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"thanks"

    def environ(self, path: str = "/hooks/T0KEN-of-the-receiver") -> dict[str, str]:
        """The deployment's variables that lead here."""
        return {"EVALPLATFORM_WEBHOOK_URL": self.url + path, "EVALPLATFORM_WEBHOOK_SECRET": SECRET}


@contextmanager
def running_webhook_receiver(*, tls: ssl.SSLContext | None = None) -> Iterator[WebhookReceiver]:
    """The receiver in a thread of this process, on a free port, until the block ends."""
    receiver = WebhookReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.posts.append(Post(self.path, dict(self.headers), body))
            self.send_response(receiver.status)
            for name, value in {"Content-Length": str(len(receiver.body)), **receiver.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
