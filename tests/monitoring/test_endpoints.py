"""Endpoints of monitored agents by how they are written: what is refused, with which code, and what may be asked."""

import json
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from evalplatform.kernel.errors import EndpointRefusedError
from evalplatform.monitoring.endpoints import REFUSALS, checked_url, refused_address

HOSTILE = json.loads((Path(__file__).parents[1] / "cases" / "hostile_urls.json").read_text(encoding="utf-8"))
PIECES = ["https", "http", ":", "/", "//", "@", "?", "#", "[", "]", "\\", "%2e", ".", "..", "-", "_", "\t", " ", ",", ";", "xn--"]
PIECES += ["127.0.0.1", "0x7f", "1", "::1", "8443", "2606:4700::1111", "8.8.8.8", "a.example", "A.Example", "\u3002", "\uff11", "\u00df"]
INSIDE = {"endpoint_loopback", "endpoint_private", "endpoint_unique_local"}


def code_of(url: str, *, allow_http: bool = False, internal_hosts: tuple[str, ...] = ()) -> str | None:
    try:
        checked_url(url, allow_http=allow_http, internal_hosts=internal_hosts)
    except EndpointRefusedError as error:
        return error.code
    return None


@pytest.mark.parametrize("case", HOSTILE, ids=[case["why"] for case in HOSTILE])
def test_a_hostile_address_is_refused_by_its_kind(case: dict[str, str]) -> None:
    assert code_of(case["url"]) == case["code"]
    with_http = code_of(case["url"], allow_http=True, internal_hosts=("agents.internal",))
    assert with_http == (None if case["code"] == "endpoint_not_https" else case["code"])


def test_every_kind_that_shows_in_an_address_has_hostile_ones() -> None:
    assert {case["code"] for case in HOSTILE} == set(REFUSALS) - {"endpoint_unresolvable", "endpoint_redirects"}


def test_a_refusal_names_field_and_code_and_does_not_repeat_the_address() -> None:
    with pytest.raises(EndpointRefusedError) as refused:
        checked_url("https://10.0.0.1/run?token=very-secret", allow_http=False, internal_hosts=())
    assert refused.value.field == "endpoint"
    assert str(refused.value) == "endpoint: must be public, and is a private address. (endpoint_private)"


@pytest.mark.parametrize(
    ("url", "host", "address"),
    [
        ("https://agent.example.com/run", "agent.example.com", "https://agent.example.com:443"),
        ("HTTPS://Agent.Example.COM:8443/run?token=x#top", "agent.example.com", "https://agent.example.com:8443"),
        ("https://my_agent.example.com", "my_agent.example.com", "https://my_agent.example.com:443"),
        ("https://xn--strae-oqa.example/run", "xn--strae-oqa.example", "https://xn--strae-oqa.example:443"),
        ("https://8.8.8.8/run", "8.8.8.8", "https://8.8.8.8:443"),
        ("https://[2606:4700::1111]:8443/run", "2606:4700::1111", "https://[2606:4700::1111]:8443"),
        ("https://agent.example.com/a%20b?q=%2F@", "agent.example.com", "https://agent.example.com:443"),
        ("https://172.32.0.1/run", "172.32.0.1", "https://172.32.0.1:443"),
        ("https://127.example/run", "127.example", "https://127.example:443"),
        ("https://localhost.example.com/run", "localhost.example.com", "https://localhost.example.com:443"),
    ],
)
def test_a_public_address_may_be_asked(url: str, host: str, address: str) -> None:
    checked = checked_url(url, allow_http=False, internal_hosts=())
    assert (checked.url, checked.host, checked.address, checked.is_internal) == (url, host, address, False)


def test_plain_http_may_be_asked_where_the_deployment_allows_it() -> None:
    assert checked_url("http://agent.example.com/run", allow_http=True, internal_hosts=()).address == "http://agent.example.com:80"


def test_a_host_that_the_deployment_allows_may_be_inside_and_nothing_beside_it() -> None:
    allowed = ("agents.internal", "10.1.2.3", "localhost", "fd12::1")
    for url in ("https://Agents.Internal./run", "https://10.1.2.3:8443", "https://localhost/run", "https://[fd12::1]/run"):
        assert checked_url(url, allow_http=False, internal_hosts=allowed).is_internal
    assert code_of("https://10.1.2.4/run", internal_hosts=allowed) == "endpoint_private"
    assert code_of("https://a.localhost/run", internal_hosts=allowed) == "endpoint_loopback"
    assert code_of("https://user@agents.internal/run", internal_hosts=allowed) == "endpoint_has_credentials"
    assert code_of("http://agents.internal/run", internal_hosts=allowed) == "endpoint_not_https"


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("169.254.169.254", "endpoint_metadata"),
        ("metadata.google.internal", "endpoint_metadata"),
        ("169.254.7.7", "endpoint_link_local"),
        ("[fe80::1]", "endpoint_link_local"),
        ("[::ffff:10.0.0.1]", "endpoint_embeds_ipv4"),
        ("2130706433", "endpoint_obscured_address"),
        ("0.0.0.0", "endpoint_reserved"),
    ],
)
def test_some_hosts_no_deployment_can_allow(host: str, code: str) -> None:
    assert code_of(f"https://{host}/run", internal_hosts=(host.strip("[]"),)) == code


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_the_standard_library_holds_for_not_global_is_refused(address: IPv4Address | IPv6Address) -> None:
    code = refused_address(address)
    inside = refused_address(address, is_internal=True)
    if not address.is_global or address.is_multicast:
        assert code is not None
    assert code is None or code in REFUSALS
    assert inside == (None if code in INSIDE else code)


def written(number: int, form: str) -> str:
    return {"decimal": f"{number}", "hex": f"0x{number:x}", "octal": f"0{number:o}", "padded": f"{number:04d}"}[form]


@given(st.ip_addresses(v=4), st.lists(st.sampled_from(["decimal", "hex", "octal", "padded"]), min_size=1, max_size=4))
def test_no_form_that_the_c_library_takes_for_an_address_gets_past_its_rule(address: IPv4Address, forms: list[str]) -> None:
    parts = list(address.packed[: len(forms) - 1])
    last = int.from_bytes(address.packed[len(forms) - 1 :], "big")
    host = ".".join(written(number, form) for number, form in zip([*parts, last], forms, strict=True))
    plain = forms == ["decimal"] * 4
    assert code_of(f"https://{host}/run") == (refused_address(address) if plain else "endpoint_obscured_address")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_the_client_reads_the_host_that_was_checked(rest: str) -> None:
    for url in (rest, f"https://{rest}", f"https://a.example{rest}"):
        try:
            checked = checked_url(url, allow_http=True, internal_hosts=())
        except EndpointRefusedError:
            continue
        read = URL(url)
        assert (read.raw_host or "").removesuffix(".").lower() == checked.host
        assert (read.user, read.password) == (None, None)
        assert f"{read.scheme}:" == checked.address[: len(read.scheme) + 1]
        assert checked.address.endswith(f":{read.port}")
        _assert_is_no_hidden_address(checked.host)


def _assert_is_no_hidden_address(host: str) -> None:
    """Whatever the C library takes for an IPv4 address is the plain form of one that may be asked."""
    try:
        packed = socket.inet_aton(host)
    except OSError:
        return
    assert str(IPv4Address(packed)) == host
    assert refused_address(ip_address(host)) is None


def test_the_page_on_endpoints_explains_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "monitored-endpoints.md").read_text(encoding="utf-8")
    assert [code for code in REFUSALS if f"| `{code}` |" not in page] == []
