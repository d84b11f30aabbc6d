"""`evalplatform serve` as a process of its own, and a plain HTTP client that follows nothing."""

import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.command_line import started, wait_until
from tests.support.dev_server import free_port


@dataclass(frozen=True)
class Answer:
    """One answer of a server, as it came."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class WebServer:
    """A running `evalplatform serve`."""

    url: str
    process: "subprocess.Popen[str]"

    def get(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        """Send a request with the path exactly as it stands; `if_none_match` is the header If-None-Match."""
        return fetch(self.url + path, method=method, **headers)


@contextmanager
def running_web_server(folder: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[WebServer]:
    """Serve the project of a folder until the block ends."""
    port = free_port()
    with started("serve", "--port", str(port), folder=folder, environment=environment) as process:
        server = WebServer(f"http://127.0.0.1:{port}", process)
        wait_until(lambda: process.poll() is not None or _serves(server), "the web app")
        assert process.poll() is None, process.communicate()
        yield server


def fetch(url: str, *, method: str = "GET", **headers: str) -> Answer:
    """Send one request and return its answer, a redirect as it is."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        target = url.removeprefix(f"{parts.scheme}://{parts.netloc}")
        connection.request(method, target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def _serves(server: WebServer) -> bool:
    try:
        return server.get("/healthz").status == 200
    except OSError:
        return False
