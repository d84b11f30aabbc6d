"""Signed webhooks: a POST of JSON whose receiver can check who sent it, and when.

    X-Evalplatform-Delivery: the same for every attempt at one delivery
    X-Evalplatform-Timestamp: seconds since 1970, of this attempt
    X-Evalplatform-Signature: v1=<hex HMAC-SHA256 of "<timestamp>.<body>" under the shared secret>

A receiver that refuses old timestamps cannot be fooled by a request that somebody recorded.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from http.client import HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import MissingSecretError, NotDeliveredError
from evalplatform.kernel.text import clip
from evalplatform.ports.clock import Clock
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings, variable_of

TIMEOUT_SECONDS = 15.0
USER_AGENT = "evalplatform-alerts/1"
VERSION = "v1"
MAX_OUTCOME_CHARS = 300


@dataclass(frozen=True)
class Webhook:
    """Where alerts are posted, and what they are signed with. Neither is shown: a receiver's path often is its password."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    clock: Clock

    @classmethod
    def of_deployment(cls, deployment: DeploymentSettings, *, clock: Clock) -> "Webhook | None":
        """Return the deployment's webhook, or None where it has none; MissingSecretError where it has nothing to sign with."""
        if deployment.webhook_url is None:
            return None
        if not deployment.webhook_secret:
            rule = f"must hold what webhooks are signed with, since {variable_of('webhook_url')} is set."
            raise MissingSecretError(rule, field=variable_of("webhook_secret"))
        return cls(deployment.webhook_url, deployment.webhook_secret, clock)

    @property
    def shown(self) -> str:
        """Scheme and host, which may be shown."""
        parts = urlsplit(self.url)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{parts.hostname}{port}"

    def send(self, message: Message) -> str:
        """Post a message and return what the receiver said.

        Raises:
            NotDeliveredError: it cannot be reached, redirects, or answers with anything but a 2xx.
        """
        body = canonical_json(message.document)
        timestamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-Evalplatform-Delivery": message.id,
            "X-Evalplatform-Timestamp": timestamp,
            "X-Evalplatform-Signature": f"{VERSION}={signature(self.secret, timestamp, body)}",
        }
        request = Request(self.url, data=body, headers=headers, method="POST")
        try:
            with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as response:
                return f"the receiver said {response.status}"
        except HTTPError as error:
            error.close()
            raise NotDeliveredError(f"the receiver said {error.code}") from None
        except (URLError, OSError, ValueError) as error:
            raise NotDeliveredError(clip(f"the receiver cannot be reached: {_why(error)}", MAX_OUTCOME_CHARS)) from None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the hex HMAC-SHA256 of a body at a time."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class _NoRedirect(HTTPRedirectHandler):
    """Makes a redirect the answer it is: following it would carry the message to another place."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str) -> None:
        """Follow nothing."""


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "it did not answer in time"
    return str(getattr(reason, "strerror", None) or type(reason).__name__)
