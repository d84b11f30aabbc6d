"""pydantic-ai's errors as ours."""

from pydantic_ai import exceptions as theirs

from evalplatform.adapters.models.http_errors import SERVER_TEXT_LIMIT_CHARS, error_for_status, without_secret
from evalplatform.kernel.errors import CallError, FatalCallError, RetryableCallError, UnusableReplyError
from evalplatform.kernel.text import clip

# The first class that fits decides, so a subclass stands before its base.
_FATAL: tuple[tuple[type[Exception], str], ...] = (
    (theirs.ModelAuthenticationError, "auth"),
    (theirs.ModelNotFoundError, "not_found"),
    (theirs.ModelQuotaExceededError, "quota"),
    (theirs.ModelRequestRejectedError, "bad_request"),
    (theirs.UserError, "bad_request"),
)
_RETRYABLE: tuple[tuple[type[Exception], str], ...] = (
    (theirs.ModelRateLimitError, "rate_limited"),
    (theirs.ModelUnavailableError, "overloaded"),
    (theirs.ModelRequestTimeout, "timeout"),
    (theirs.ModelTimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (theirs.ModelConnectionError, "connection"),
    (theirs.ModelServerError, "server_error"),
)


def filtered(error: Exception) -> bool:
    """Say whether the provider withheld its reply: that is an answer (none), not a failed call."""
    return isinstance(error, theirs.ContentFilterError)


def lacks_credentials(error: Exception) -> bool:
    """Say whether a cloud's own library found no credentials or could not renew them; pydantic-ai passes these errors on as they are.

    They are known by module and name, so that neither library is imported where it is not used.
    """
    module, name = type(error).__module__, type(error).__name__
    return module.startswith("google.auth") or (module.startswith("botocore") and ("Credential" in name or "Token" in name))


def typed_error(error: Exception, *, who: str, key: str | None) -> CallError | None:
    """Return our error for one of pydantic-ai's; None for one that is neither theirs nor known, which is a defect to be seen.

    An IndexError is how some of its models report a reply without choices.
    """
    message = f"{who}: {clip(' '.join(without_secret(_said(error), key).split()), SERVER_TEXT_LIMIT_CHARS)}"
    if lacks_credentials(error):
        return FatalCallError("auth", message)
    status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    for kind, reason in _FATAL:
        if isinstance(error, kind):
            return FatalCallError(reason, message, status=status)
    for kind, reason in _RETRYABLE:
        if isinstance(error, kind):
            wait_seconds = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
            return RetryableCallError(reason, message, status=status, retry_after_seconds=wait_seconds)
    if status is not None:
        return error_for_status(status, without_secret(_said(error), key), who=who)
    if isinstance(error, IndexError | theirs.UnexpectedModelBehavior | theirs.ModelAPIError):
        return UnusableReplyError("unusable_reply", message)
    return None


def _said(error: Exception) -> str:
    if isinstance(error, theirs.ModelHTTPError) and isinstance(error.body, dict):
        inner = error.body.get("error", error.body)
        said = inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(said, str):
            return f"HTTP {error.status_code}: {said}"
    return str(error) or type(error).__name__
