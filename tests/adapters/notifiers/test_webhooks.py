"""Signed webhooks, to real receivers on loopback: what is posted, how it is checked, and what is said of a post that is not taken."""

import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.adapters.clock import ManualClock
from evalplatform.adapters.notifiers.open import Channels, open_notifier
from evalplatform.adapters.notifiers.webhook import Webhook, signature
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings
from tests.support.certificates import self_signed
from tests.support.raw_server import Talk, dripping, raw_server, silence
from tests.support.webhook_receiver import MOST_AGE_SECONDS, SECRET, WebhookReceiver, running_webhook_receiver

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MESSAGE = Message(id="default.shop.nightly.1", subject="", text="", document={"alert": "drift_detected", "scenarios": [{"id": "返金"}]})
TOKEN = "T0KEN-of-the-receiver"


def notifier(environ: Mapping[str, str]) -> Channels:
    return open_notifier(DeploymentSettings.from_environment(environ), clock=ManualClock(NOON))


def sent(environ: Mapping[str, str], message: Message = MESSAGE) -> str:
    return notifier(environ).send(message, channel="webhook", address="")


def refused(environ: Mapping[str, str]) -> str:
    with pytest.raises(NotDeliveredError) as error:
        sent(environ)
    return str(error.value)


def at(port: int, *, scheme: str = "http", path: str = "/hook") -> dict[str, str]:
    return {"EVALPLATFORM_WEBHOOK_URL": f"{scheme}://127.0.0.1:{port}{path}", "EVALPLATFORM_WEBHOOK_SECRET": SECRET}


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with running_webhook_receiver() as running:
        yield running


def test_a_post_arrives_as_json_that_the_receiver_can_check(receiver: WebhookReceiver):
    assert sent(receiver.environ()) == "the receiver said 200"
    (post,) = receiver.posts
    assert post.document == MESSAGE.document
    assert post.is_genuine(now_seconds=NOON.timestamp())
    assert (post.path, post.headers["Host"]) == (f"/hooks/{TOKEN}", receiver.url.removeprefix("http://"))
    assert (post.headers["Content-Type"], post.headers["User-Agent"]) == ("application/json", "evalplatform-alerts/1")
    assert post.headers["X-Evalplatform-Delivery"] == MESSAGE.id


def test_the_receiver_tells_a_changed_or_an_old_post_and_another_secret(receiver: WebhookReceiver):
    sent(receiver.environ())
    (post,) = receiver.posts
    now = NOON.timestamp()
    later = {**post.headers, "X-Evalplatform-Timestamp": str(int(now) + 1)}
    assert not type(post)(post.path, post.headers, post.body.replace(b"drift", b"Drift")).is_genuine(now_seconds=now)
    assert not type(post)(post.path, later, post.body).is_genuine(now_seconds=now)
    assert not post.is_genuine(now_seconds=now + MOST_AGE_SECONDS + 1)
    assert not post.is_genuine(secret="another", now_seconds=now)


def test_a_signature_is_the_hmac_that_other_tools_make():
    # printf '1772366400.{"a":1}' | openssl dgst -sha256 -hmac topsecret
    assert signature("topsecret", "1772366400", b'{"a":1}') == "47efaca37ebd9ee187e74b38d928eb8d16ed643b2a7bf67a996fe3ef96fd33a3"


def test_the_query_of_the_address_is_kept(receiver: WebhookReceiver):
    sent(receiver.environ(path="?channel=ops&token=a%20b"))
    assert receiver.posts[0].path == "/?channel=ops&token=a%20b"


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_is_a_delivery(receiver: WebhookReceiver, status: int):
    receiver.status, receiver.body = status, b""
    assert sent(receiver.environ()) == f"the receiver said {status}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(receiver: WebhookReceiver, status: int):
    with running_webhook_receiver() as elsewhere:
        receiver.status, receiver.headers, receiver.body = status, {"Location": f"{elsewhere.url}/latest/meta-data"}, b""
        assert refused(receiver.environ()) == f"the receiver said {status} (redirects are not followed)"
    assert (len(receiver.posts), elsewhere.posts) == (1, [])


def test_a_refusal_is_said_in_the_receivers_words_without_what_is_secret(receiver: WebhookReceiver):
    receiver.status = 403
    receiver.body = f"no\x00 such\r\nhook: /hooks/{TOKEN}, {TOKEN}; your key is {SECRET}. ".encode() + b"\xff" * 5_000
    said = refused(receiver.environ())
    assert said.startswith("the receiver said 403 no⟨U+0000⟩ such hook: [secret], [secret]; your key is [secret]. ")
    assert len(said) == 300


def test_a_receiver_that_is_not_there_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert refused(at(port)) == "the receiver did not take it: Connection refused"
    unknown = {"EVALPLATFORM_WEBHOOK_URL": "https://hooks.invalid/x", "EVALPLATFORM_WEBHOOK_SECRET": SECRET}
    assert refused(unknown) == "the receiver did not take it: its name is not known"


def test_https_goes_to_a_receiver_that_this_machine_trusts_and_to_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    certificate = self_signed(tmp_path / "good")
    old = self_signed(tmp_path / "old", days=(-30, -1))
    for trusted in (certificate, old):
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted.file))
        with running_webhook_receiver(tls=trusted.server_context()) as receiver:
            if trusted is certificate:
                assert sent(receiver.environ()) == "the receiver said 200"
                monkeypatch.delenv("SSL_CERT_FILE")
                assert refused(receiver.environ()) == NOT_VALID.format("self-signed certificate")
                assert len(receiver.posts) == 1
            else:
                assert refused(receiver.environ()) == NOT_VALID.format("certificate has expired")
                assert receiver.posts == []


NOT_VALID = "the receiver did not take it: its certificate is not valid: {}"


@pytest.mark.parametrize(
    ("scheme", "talk"),
    [
        pytest.param("http", silence, id="silence"),
        pytest.param("http", dripping(b"HTTP/1.1", b" "), id="a status that never comes"),
        pytest.param("http", dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="ever more of nothing"),
        pytest.param("https", silence, id="silence before the handshake"),
        pytest.param("https", dripping(b"\x16\x03\x03\x3f\xff", b"\x02"), id="a handshake that never ends"),
    ],
)
def test_a_receiver_that_never_comes_to_an_end_is_left(scheme: str, talk: Talk):
    with raw_server(talk) as server:
        webhook = Webhook(f"{scheme}://127.0.0.1:{server.port}/", SECRET, ManualClock(NOON), timeout_seconds=0.2)
        with pytest.raises(NotDeliveredError) as error:
            webhook.send(MESSAGE)
    assert str(error.value) == "the receiver did not take it: no answer within 0.2 s"


def test_a_refusal_whose_text_never_ends_is_that_refusal():
    with raw_server(dripping(b"HTTP/1.1 500 Oh\r\n\r\nbusy", b".")) as server:
        webhook = Webhook(f"http://127.0.0.1:{server.port}/", SECRET, ManualClock(NOON), timeout_seconds=1)
        with pytest.raises(NotDeliveredError, match=r"^the receiver said 500"):
            webhook.send(MESSAGE)


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(dripping(b"HTTP/1.1 202 Accepted\r\nContent-Length: 999999999\r\n\r\n", b"."), id="a text that never ends"),
        pytest.param(dripping(b"HTTP/1.1 202 Accepted\r\n\r\n", b"."), id="a text of no length"),
        pytest.param(dripping(b"HTTP/1.1 202 Accepted\r\nX-A: ", b"a"), id="a header that never ends"),
    ],
)
def test_what_was_taken_is_taken_however_its_answer_goes_on(talk: Talk):
    with raw_server(talk) as server:
        webhook = Webhook(f"http://127.0.0.1:{server.port}/", SECRET, ManualClock(NOON), timeout_seconds=1)
        assert webhook.send(MESSAGE) == "the receiver said 202"


@pytest.mark.parametrize("garbage", [b"220 mail.example.com\r\n", b"\0\xff\r\n\r\n", b"", b"HTTP/1.1 two hundred\r\n\r\n"])
def test_what_is_no_web_server_is_no_delivery(garbage: bytes):
    with raw_server(lambda connection: connection.sendall(garbage)) as server:
        assert refused(at(server.port)).startswith("the receiver did not take it: ")


def test_no_webhook_goes_unsigned(receiver: WebhookReceiver):
    environ = receiver.environ()
    del environ["EVALPLATFORM_WEBHOOK_SECRET"]
    assert refused(environ) == "EVALPLATFORM_WEBHOOK_SECRET is not set, and no webhook goes unsigned"
    assert refused({}) == "the deployment has no webhook any more"
    assert receiver.posts == []


def test_only_scheme_host_and_port_of_a_webhook_are_shown(receiver: WebhookReceiver):
    opened = notifier(receiver.environ())
    assert opened.webhook == receiver.url
    assert notifier({}).webhook is None
    webhook = Webhook.of_deployment(DeploymentSettings.from_environment(receiver.environ()), clock=ManualClock(NOON))
    assert TOKEN not in repr(webhook)
    assert SECRET not in repr(webhook)
