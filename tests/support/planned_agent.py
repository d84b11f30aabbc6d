"""An agent behind a real HTTP server that does what it is told, scenario by scenario and run by run, and notes what it was asked.

A plan is letters, one a run, over and over: P answers with a date; F answers without one; X takes another tool; A breaks (500); H refuses
(403), so that the run could not be made; S takes three seconds.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_SECONDS = 3.0


@dataclass
class PlannedAgent:
    """What it does, and what it was asked: `(scenario, run)` in order, with the headers of each request."""

    port: int = 0
    plan: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    def behave(self, **plan: str) -> None:
        """Take another plan, and forget what was asked."""
        self.plan, self.asked, self.headers = plan, [], []

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        letters = self.plan.get(request["scenario"], "P")
        letter = letters[request["run"] % len(letters)]
        if letter == "S":
            time.sleep(SLOW_SECONDS)
        if letter in "AH":
            return (500 if letter == "A" else 403), {}
        call = {"id": "c1", "type": "function", "function": {"name": "guess" if letter == "X" else "lookup", "arguments": "{}"}}
        messages = [
            *request["messages"],
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "3 May"},
            {"role": "assistant", "content": "No date yet." if letter == "F" else "On 3 May."},
        ]
        return 200, {"messages": messages}


@contextmanager
def running_agent(**plan: str) -> Iterator[PlannedAgent]:
    """Serve the agent for a body."""
    agent = PlannedAgent(plan=plan)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            agent.asked.append((request["scenario"], request["run"]))
            agent.headers.append(dict(self.headers))
            status, reply = agent.answer(request)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the other side was killed
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    agent.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
