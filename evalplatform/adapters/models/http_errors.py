"""How an HTTP answer that is not a reply becomes one of our typed errors. Pure: no sockets here."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from evalplatform.kernel.errors import CallError, FatalCallError, RetryableCallError
from evalplatform.kernel.text import clip

SERVER_TEXT_LIMIT_CHARS = 300

# Status -> reason. Other 4xx are `bad_request`, other 5xx `server_error`.
_REASONS = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    425: "too_early",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_RETRYABLE_BELOW_500 = frozenset({408, 409, 425, 429})
# OpenAI sends these with 429 too, but no wait refills an account (OpenAI, "Error codes").
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def error_for_status(
    status: int, server_text: str, *, who: str, code: str | None = None, retry_after_seconds: float | None = None
) -> CallError:
    """Return the typed error of an HTTP status.

    408, 409, 425, 429 and every 5xx can be asked again; every other status cannot, and neither can a 429 whose `code` says that the
    account's quota is used up.

    Args:
        status: the HTTP status, or the status that an error inside a 200 names.
        server_text: what the server said, already free of secrets; clipped at 300 characters.
        who: the model and endpoint, for the message.
        code: the server's own error code, if any.
        retry_after_seconds: what the server asks to wait.
    """
    said = clip(" ".join(server_text.split()), SERVER_TEXT_LIMIT_CHARS)
    message = f"{who} answered HTTP {status}" + (f": {said}" if said else ".")
    if code in _QUOTA_CODES:
        return FatalCallError("quota", message, status=status)
    if status >= 500 or status in _RETRYABLE_BELOW_500:
        reason = _REASONS.get(status, "server_error")
        return RetryableCallError(reason, message, status=status, retry_after_seconds=retry_after_seconds)
    return FatalCallError(_REASONS.get(status, "redirected" if status < 400 else "bad_request"), message, status=status)


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return how long the server asks to wait, or None when it does not say or says it in no known way.

    `retry-after-ms` (OpenAI's) goes before `Retry-After`, which is a number of seconds or an HTTP date (RFC 9110, 10.2.3). A date that has
    passed is 0; a negative or non-finite number is no answer.

    Example:
        >>> retry_after_seconds({"Retry-After": "2"}, now=datetime(2026, 1, 1, tzinfo=UTC))
        2.0
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = _wait_number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = lowered.get("retry-after", "")
    seconds = _wait_number(text)
    return seconds if seconds is not None else _seconds_until(text, now)


def _wait_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # "-0000": UTC, of unknown local zone
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def without_secret(text: str, secret: str | None) -> str:
    """Return `text` with every occurrence of the secret blanked; done before any clipping, which could leave half a key."""
    return text.replace(secret, "[key]") if secret else text
