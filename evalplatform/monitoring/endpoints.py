"""Where a monitored agent may be asked: public addresses alone, so that nobody has this server look into its own network for them.

A URL is read strictly: whatever two programs could read in two ways is refused. What a name resolves to is looked at by whoever connects,
with the same rule, address by address.

References:
    IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its updates).
    RFC 4291 2.5.5 (mapped and compatible), RFC 3056 (6to4), RFC 6052 and RFC 8215 (NAT64), RFC 4380 (Teredo), RFC 5214 (ISATAP).
"""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
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
]
REFUSALS: dict[RefusalCode, str] = {
    "endpoint_too_long": f"must have at most {MOST_URL_CHARS:,} characters",
    "endpoint_malformed": "must be an https:// address with a host, and nothing that could be read in two ways",
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
}
METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"})
_METADATA = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.169.253", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"),
    )
)
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
_RESERVED = tuple(map(IPv4Network, ("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4")))
_EMBEDDING = tuple(
    map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "2002::/16", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32"))
)
_SITE_LOCAL, _UNIQUE_LOCAL = IPv6Network("fec0::/10"), IPv6Network("fc00::/7")
_ISATAP = (0x00005EFE, 0x02005EFE)
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]*|[0-9]+)")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_UNREADABLE = re.compile(r"[\x00-\x20\x7f\\<>^`{|}\"]")


class EndpointAddress(NamedTuple):
    """An address that may be asked.

    Attributes:
        url: as it was given.
        host: its host in lower case ASCII, without brackets and closing dot.
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
    if "@" in parts.netloc:
        raise refusal("endpoint_has_credentials")
    host = _host(parts)
    is_internal = host in internal_hosts
    if not is_internal:
        _refuse_host(host)
    return EndpointAddress(url, host, address_of(url), is_internal)


def refused_address(address: IPv4Address | IPv6Address, *, is_internal: bool = False) -> RefusalCode | None:
    """Return why an agent may not be asked at an address; None where it may.

    Of a host that the deployment allows by name only what no agent ever is at is refused: link-local and metadata addresses.
    """
    code = _metadata_or_link_local(address)
    if code is not None or is_internal:
        return code
    return _refused_v4(address) if isinstance(address, IPv4Address) else _refused_v6(address)


def refusal(code: RefusalCode) -> EndpointRefusedError:
    """Return the error of a code."""
    return EndpointRefusedError(code, f"{REFUSALS[code]}.", field=FIELD)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # an open bracket, a port out of range
        usable = False
    if not usable or "%" in parts.netloc.rpartition("@")[2] or parts.netloc.endswith(":"):
        raise refusal("endpoint_malformed")
    return parts


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").removesuffix(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            raise refusal("endpoint_malformed") from None
    return host


def _refuse_host(host: str) -> None:
    """Raise EndpointRefusedError for a host that is refused by how it is written, before anything is looked up."""
    literal = _literal(host)
    if literal is not None:
        code = refused_address(literal)
        if code is not None:
            raise refusal(code)
        return
    labels = host.split(".")
    if ":" in host:
        raise refusal("endpoint_malformed")
    if _NUMBER.fullmatch(labels[-1]):  # whoever reads it may take it for an address, as browsers and the C library do
        raise refusal("endpoint_obscured_address")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise refusal("endpoint_malformed")
    if labels[-1] == "localhost" or host in ("localhost.localdomain", "ip6-localhost"):
        raise refusal("endpoint_loopback")
    if host in METADATA_NAMES:
        raise refusal("endpoint_metadata")


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _metadata_or_link_local(address: IPv4Address | IPv6Address) -> RefusalCode | None:
    embedded = _embedded(address) if isinstance(address, IPv6Address) else None
    if address in _METADATA or embedded in _METADATA:
        return "endpoint_metadata"
    if address.is_link_local or (embedded is not None and embedded.is_link_local):
        return "endpoint_link_local"
    return None


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that a mapped or 6to4 one holds; None for others."""
    return address.ipv4_mapped or address.sixtofour


def _refused_v4(address: IPv4Address) -> RefusalCode | None:
    if address.is_loopback:
        return "endpoint_loopback"
    if any(address in network for network in _PRIVATE):
        return "endpoint_private"
    if any(address in network for network in _RESERVED) or not address.is_global:
        return "endpoint_reserved"
    return None


def _refused_v6(address: IPv6Address) -> RefusalCode | None:
    if address.is_loopback:
        return "endpoint_loopback"
    if address.is_unspecified:
        return "endpoint_reserved"
    if any(address in network for network in _EMBEDDING) or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "endpoint_embeds_ipv4"
    if address in _UNIQUE_LOCAL:
        return "endpoint_unique_local"
    if address in _SITE_LOCAL:
        return "endpoint_private"
    return None if address.is_global and not address.is_multicast else "endpoint_reserved"
