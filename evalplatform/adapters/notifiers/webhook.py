"""Signed webhooks: a POST of JSON whose receiver can check who sent it, and when.

    X-Evalplatform-Delivery: the same for every attempt at one delivery
    X-Evalplatform-Timestamp: seconds since 1970, of this attempt
    X-Evalplatform-Signature: v1=<hex HMAC-SHA256 of "<timestamp>.<body>" under the shared secret>

A receiver that refuses old timestamps cannot be fooled by a request that somebody recorded.
"""

import hashlib
import hmac
import ssl
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import unquote, urlsplit

from evalplatform.adapters.agents.redaction import Redactor
from evalplatform.adapters.notifiers.time_limit import TimeLimit
from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.ports.clock import Clock
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings, variable_of
from evalplatform.reports.visible import one_line

TIMEOUT_SECONDS = 15.0
PORTS = {"http": 80, "https": 443}
USER_AGENT = "evalplatform-alerts/1"
VERSION = "v1"
MAX_OUTCOME_CHARS = 300
MAX_ANSWER_BYTES = 2_000
LEAST_SECRET_CHARS = 8


@dataclass(frozen=True)
class Webhook:
    """Where alerts are posted, and what they are signed with. Neither is shown: a receiver's path often is its password.

    Attributes:
        url: an http or https address, as the deployment's settings have checked it.
        secret: None where the deployment has none, and then nothing can be sent: what is not signed could come from anybody.
        clock: dates the posts.
        timeout_seconds: for one post, from the connection to the end of the answer.
    """

    url: str = field(repr=False)
    secret: str | None = field(repr=False)
    clock: Clock
    timeout_seconds: float = TIMEOUT_SECONDS

    @classmethod
    def of_deployment(cls, deployment: DeploymentSettings, *, clock: Clock) -> "Webhook | None":
        """Return the deployment's webhook, or None where it has none."""
        return None if deployment.webhook_url is None else cls(deployment.webhook_url, deployment.webhook_secret, clock)

    @property
    def shown(self) -> str:
        """Scheme, host and port, which may be shown."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def send(self, message: Message) -> str:
        """Post a message and return what the receiver said.

        Raises:
            NotDeliveredError: it cannot be reached, redirects, or answers with anything but a 2xx.
        """
        if not self.secret:
            raise NotDeliveredError(f"{variable_of('webhook_secret')} is not set, and no webhook goes unsigned")
        body = canonical_json(message.document)
        timestamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Host": urlsplit(self.url).netloc,
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-Evalplatform-Delivery": message.id,
            "X-Evalplatform-Timestamp": timestamp,
            "X-Evalplatform-Signature": f"{VERSION}={signature(self.secret, timestamp, body)}",
        }
        with TimeLimit(self.timeout_seconds) as limit:
            try:
                status, said = self._posted(limit, body, headers)
            except (OSError, HTTPException, ValueError) as error:
                failure = f"the receiver did not take it: {limit.failure_words(error)}"
                raise NotDeliveredError(self._shown(failure)) from None
        if 200 <= status < 300:
            return f"the receiver said {status}"
        hint = " (redirects are not followed)" if 300 <= status < 400 else ""
        raise NotDeliveredError(self._shown(f"the receiver said {status}{hint} {said}"))

    def _posted(self, limit: TimeLimit, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """Return status and the beginning of the answer's text, which is read of refusals alone: what was taken is taken."""
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        connection = HTTPConnection(host, port)
        connection.sock = limit.connect(host, port, tls=ssl.create_default_context() if parts.scheme == "https" else None)
        try:
            connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, "" if answer.status < 300 else _beginning(answer)
        finally:
            connection.close()

    def _shown(self, words: str) -> str:
        parts = urlsplit(self.url)
        pieces = [*parts.path.split("/"), *(value for pair in parts.query.split("&") for value in pair.split("="))]
        secrets = [parts.path, parts.query, *pieces, *map(unquote, pieces)]
        hidden = [self.secret or "", *(text for text in secrets if len(text) >= LEAST_SECRET_CHARS)]
        return one_line(Redactor(hidden).text(words), MAX_OUTCOME_CHARS)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the hex HMAC-SHA256 of a body at a time."""
    return hmac.new(secret.encode("utf-8", "surrogateescape"), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _beginning(answer: HTTPResponse) -> str:
    """Return how the text of an answer begins; what breaks off after its status is an answer all the same."""
    try:
        return answer.read(MAX_ANSWER_BYTES).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""
