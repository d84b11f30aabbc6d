"""Where a monitored agent may be asked: public addresses alone, so that nobody has this server look into its own network for them.

A URL is read strictly: whatever two programs could read in two ways is refused. What a name resolves to is looked at by whoever connects,
with the same rule, address by address.

References:
    IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its updates), and RFC 4291 2.4 (global unicast).
    RFC 4291 2.5.5 (mapped and compatible), RFC 3056 (6to4), RFC 6052 and RFC 8215 (NAT64), RFC 4380 (Teredo), RFC 5214 (ISATAP).
"""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

from evalplatform.kernel.errors import EndpointRefusedError
from evalplatform.runs.schedule import MOST_URL_CHARS, address_of

FIELD = "endpoint"
RefusalCode = Literal[
    "endpoint_too_long",
    "endpoint_malformed",
    "endpoint_not_https",
    "endpoint_has_credentials",
    "endpoint_obscured_address",
    "endpoint_embeds_ipv4",
    "endpoint_loopback",
    "endpoint_link_local",
    "endpoint_metadata",
    "endpoint_private",
    "endpoint_unique_local",
    "endpoint_reserved",
    "endpoint_unresolvable",
    "endpoint_redirects",
]
REFUSALS: dict[RefusalCode, str] = {
    "endpoint_too_long": f"must have at most {MOST_URL_CHARS:,} characters",
    "endpoint_malformed": "must be an https:// address with a host in ASCII, and nothing that could be read in two ways",
    "endpoint_not_https": "must begin with https://",
    "endpoint_has_credentials": "must carry no user or password; --auth-env names the variable that holds the Authorization value",
    "endpoint_obscured_address": "must not write an address in another form than four plain numbers",
    "endpoint_embeds_ipv4": "must not be an IPv6 address that holds an IPv4 address",
    "endpoint_loopback": "must be public, and is this machine itself",
    "endpoint_link_local": "must be public, and is a link-local address",
    "endpoint_metadata": "must be public, and is where clouds keep the secrets of their machines",
    "endpoint_private": "must be public, and is a private address",
    "endpoint_unique_local": "must be public, and is a unique-local address",
    "endpoint_reserved": "must be public, and is an address set apart for other things",
    "endpoint_unresolvable": "has a name that cannot be resolved",
    "endpoint_redirects": "answers with a redirect, and none is followed",
}
METADATA_NAMES = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.azure.internal",
        "metadata.goog",
        "metadata.google.internal",
    }
)
_OWN_NAMES = frozenset({"localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"})
_NETWORKS: tuple[tuple[RefusalCode, str], ...] = (
    # Before the wider networks that these lie in; Azure's is a public address.
    ("endpoint_metadata", "169.254.169.254 169.254.169.253 169.254.170.2 169.254.170.23 100.100.100.200 192.0.0.192 168.63.129.16"),
    ("endpoint_metadata", "fd00:ec2::/32 fd20:ce::254"),
    ("endpoint_loopback", "127.0.0.0/8 ::1"),
    ("endpoint_link_local", "169.254.0.0/16 fe80::/10"),
    ("endpoint_private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fec0::/10"),
    ("endpoint_unique_local", "fc00::/7"),
    ("endpoint_reserved", "::"),
    ("endpoint_embeds_ipv4", "::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16"),
    ("endpoint_reserved", "0.0.0.0/8 192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4"),
    ("endpoint_reserved", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),  # for documents
    ("endpoint_reserved", "2001::/23"),
)
_REFUSED = tuple((code, ip_network(text)) for code, texts in _NETWORKS for text in texts.split())
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)
_ALLOWED_INSIDE: frozenset[RefusalCode] = frozenset({"endpoint_loopback", "endpoint_private", "endpoint_unique_local"})
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_MOST_HOST_CHARS = 253
_UNREADABLE = re.compile(r"[\x00-\x20\x7f\\<>^`{|}\"]")


class EndpointAddress(NamedTuple):
    """An address that may be asked.

    Attributes:
        url: as it was given.
        host: its host in lower case, without brackets and closing dot.
        address: `scheme://host:port`.
        is_internal: whether the deployment allows this host by name, so that its addresses need not be public.
    """

    url: str
    host: str
    address: str
    is_internal: bool


def checked_url(url: str, *, allow_http: bool, internal_hosts: Collection[str]) -> EndpointAddress:
    """Return where a monitored agent is asked. Nothing is looked up: a name may still resolve to what is refused.

    Args:
        url: as a user wrote it.
        allow_http: whether the deployment allows plain http.
        internal_hosts: names, in lower case, at which the deployment allows agents of its own.

    Raises:
        EndpointRefusedError: with its code; the URL is not repeated, since its query may hold a token.
    """
    if len(url) > MOST_URL_CHARS:
        raise refusal("endpoint_too_long")
    if _UNREADABLE.search(url) or not url.isprintable():
        raise refusal("endpoint_malformed")
    parts = _split(url)
    if parts.scheme != "https" and not (allow_http and parts.scheme == "http"):
        raise refusal("endpoint_not_https" if parts.scheme == "http" else "endpoint_malformed")
    host = (parts.hostname or "").removesuffix(".")
    is_internal = host in internal_hosts
    _refuse_host(host, is_internal=is_internal)
    return EndpointAddress(url, host, address_of(url), is_internal)


def refused_address(address: IPv4Address | IPv6Address, *, is_internal: bool = False) -> RefusalCode | None:
    """Return why an agent may not be asked at an address; None where it may.

    A host that the deployment allows by name may be this machine, and at private and unique-local addresses; nothing else that is refused.
    """
    code = next((code for code, network in _REFUSED if address in network), None)
    if code is None and isinstance(address, IPv6Address):
        code = _refused_v6(address)
    return None if is_internal and code in _ALLOWED_INSIDE else code


def refusal(code: RefusalCode) -> EndpointRefusedError:
    """Return the error of a code."""
    return EndpointRefusedError(code, f"{REFUSALS[code]}.", field=FIELD)


def _split(url: str) -> SplitResult:
    """Return the parts of a URL. Raises EndpointRefusedError where it has a user, or its host and port are not plainly those."""
    try:
        parts = urlsplit(url)
        is_port = parts.port is None or parts.port > 0
    except ValueError:  # an open bracket, a port out of range
        raise refusal("endpoint_malformed") from None
    if "@" in parts.netloc:
        raise refusal("endpoint_has_credentials")
    # Python's parser and the HTTP client's read the same host out of what is as plain as this.
    if not (is_port and _HOST_AND_PORT.fullmatch(parts.netloc)):
        raise refusal("endpoint_malformed")
    return parts


def _refuse_host(host: str, *, is_internal: bool) -> None:
    """Raise EndpointRefusedError for a host that is refused by how it is written, before anything is looked up."""
    literal = _literal(host)
    if literal is not None:
        code = refused_address(literal, is_internal=is_internal)
        if code is not None:
            raise refusal(code)
        return
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # whoever reads it may take it for an address, as browsers and the C library do
        raise refusal("endpoint_obscured_address")
    if len(host) > _MOST_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise refusal("endpoint_malformed")
    if host in METADATA_NAMES:
        raise refusal("endpoint_metadata")
    if not is_internal and (labels[-1] == "localhost" or host in _OWN_NAMES):
        raise refusal("endpoint_loopback")


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _refused_v6(address: IPv6Address) -> RefusalCode | None:
    """Return why an address in none of the networks is refused: by the end that holds an IPv4 address, or as none of the global ones."""
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "endpoint_embeds_ipv4"
    return None if address in _GLOBAL_UNICAST else "endpoint_reserved"
