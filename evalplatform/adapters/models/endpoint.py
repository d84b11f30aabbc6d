"""One model endpoint as a value, and the one place where its key is read."""

import os
import re
from urllib.parse import urlsplit

from pydantic import Field

from evalplatform.adapters.models.prices import TokenPrices
from evalplatform.kernel.errors import InputError, MissingSecretError
from evalplatform.kernel.values import Value

# A name in any other spelling may be a key that was pasted where its variable's name belongs, so it is not repeated.
_CUSTOMARY_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


class ModelEndpoint(Value):
    """Where models are asked, and how. It names the variable that holds the key, never the key.

    `provider` is a name of `open.model_providers`. `base_url` None is the provider's own address. `key_env` None is the provider's
    customary variable, or no key for a compatible server. `stream` measures the time to the first token. `timeout_seconds` bounds one
    attempt. `prices` go before any table.
    """

    provider: str = Field(min_length=1)
    base_url: str | None = None
    key_env: str | None = None
    stream: bool = False
    timeout_seconds: float = Field(default=120.0, gt=0)
    max_connections: int = Field(default=256, ge=1)
    prices: TokenPrices | None = None


def required_key(variable: str) -> str:
    """Return the key that an environment variable holds, without surrounding blanks (a key read from a file often ends in a newline).

    Raises:
        MissingSecretError: the variable is unset or blank, or holds what no HTTP header can; its value is never shown, and neither
            is a `variable` that is not spelled as one in capitals.
    """
    named = f"the environment variable {variable}" if _CUSTOMARY_VARIABLE.fullmatch(variable) else "the environment variable named here"
    key = os.environ.get(variable, "").strip()
    if not key:
        raise MissingSecretError(f"{named} is not set; it holds this endpoint's key.", field="key_env")
    if not (key.isascii() and key.isprintable()):
        raise MissingSecretError(f"{named} holds characters that no key has.", field="key_env")
    return key


def checked_base_url(base_url: str) -> str:
    """Return `base_url` if calls can be made to it.

    Raises:
        InputError: it is not http or https with a host, or it carries a user, a query or a fragment (keys go into `key_env`).
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # an open bracket, a port out of range
        usable = False
    if not usable:
        raise InputError("must be an http:// or https:// address with a host.", field="base_url")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("must carry no user, query or fragment; a key goes into the variable that key_env names.", field="base_url")
    return base_url.rstrip("/")
