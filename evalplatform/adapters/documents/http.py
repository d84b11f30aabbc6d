"""Bounded HTTP GETs for document sources. aiohttp is imported where it is used, since most runs read local folders."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from evalplatform.kernel.errors import RetrievalError

if TYPE_CHECKING:
    from aiohttp import ClientSession

REQUEST_LIMIT_SECONDS = 30.0
RESPONSE_LIMIT_BYTES = 4 * 1024 * 1024
REDIRECT_LIMIT = 5


class Fetched(NamedTuple):
    """A response as read: status, media type without parameters, declared charset or None, and the body."""

    status: int
    media_type: str
    charset: str | None
    body: bytes

    def text(self) -> str:
        """Return the body as text in its declared charset, else UTF-8.

        Raises:
            RetrievalError: the bytes are not that charset's.
        """
        try:
            return self.body.decode(self.charset or "utf-8-sig")
        except (UnicodeDecodeError, LookupError) as error:
            raise RetrievalError(f"the response is not {self.charset or 'UTF-8'} text.") from error


def new_session(headers: Mapping[str, str] | None = None) -> "ClientSession":
    """Return a session with this module's time limit; the caller closes it. It goes through the environment's proxies."""
    from aiohttp import ClientSession, ClientTimeout

    return ClientSession(headers=headers, timeout=ClientTimeout(total=REQUEST_LIMIT_SECONDS), trust_env=True)


async def fetch(
    session: "ClientSession", url: str, *, what: str, params: Mapping[str, str] | None = None, follow_redirects: bool = False
) -> Fetched:
    """Return the response to one GET, whatever its status.

    Args:
        session: an open session.
        url: an http or https address.
        what: how a message names the source.
        params: the query.
        follow_redirects: whether to follow at most 5 redirects; only sensible where no key is sent.

    Raises:
        RetrievalError: no connection, no answer within 30 seconds, or more than 4 MiB.
    """
    from aiohttp import ClientError

    try:
        async with session.get(url, params=params, allow_redirects=follow_redirects, max_redirects=REDIRECT_LIMIT) as response:
            body = await response.content.read(RESPONSE_LIMIT_BYTES + 1)
            while len(body) <= RESPONSE_LIMIT_BYTES and (more := await response.content.read(RESPONSE_LIMIT_BYTES + 1 - len(body))):
                body += more
            fetched = Fetched(response.status, response.content_type, response.charset, body)
    except TimeoutError as error:
        raise RetrievalError(f"{what} did not answer within {REQUEST_LIMIT_SECONDS:.0f} seconds.") from error
    except (ClientError, OSError, ValueError) as error:
        raise RetrievalError(f"{what} cannot be reached ({type(error).__name__}).") from error
    if len(fetched.body) > RESPONSE_LIMIT_BYTES:
        raise RetrievalError(f"{what} answered with more than {RESPONSE_LIMIT_BYTES // 1024 // 1024} MiB.")
    return fetched
