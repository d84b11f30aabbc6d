"""Mail by SMTP, to real servers on loopback: what arrives, what is encrypted, and what is said of a mail that is not taken."""

import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.adapters.clock import ManualClock
from evalplatform.adapters.notifiers.open import Channels, open_notifier
from evalplatform.adapters.notifiers.smtp import SmtpMailer
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings
from tests.support.certificates import Certificate, self_signed
from tests.support.mail_server import MailServer, running_mail_server
from tests.support.raw_server import Talk, dripping, raw_server, silence, smtp_dialogue

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MESSAGE = Message(id="default.shop.nightly.1", subject="shop: drift detected", text="refund: 2 of 4 failed\n", document={})
TO = "ops@example.com"
PASSWORD = "pa55 wörd"
SIGN_IN = {"EVALPLATFORM_SMTP_USER": "ana", "EVALPLATFORM_SMTP_PASSWORD": "pa55word"}


def notifier(environ: Mapping[str, str]) -> Channels:
    return open_notifier(DeploymentSettings.from_environment(environ), clock=ManualClock(NOON))


def sent(environ: Mapping[str, str], message: Message = MESSAGE, *, to: str = TO) -> str:
    return notifier(environ).send(message, channel="email", address=to)


def refused(environ: Mapping[str, str], message: Message = MESSAGE, *, to: str = TO) -> str:
    with pytest.raises(NotDeliveredError) as error:
        sent(environ, message, to=to)
    return str(error.value)


@pytest.fixture
def server() -> Iterator[MailServer]:
    with running_mail_server() as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    """The certificate, as an authority that this machine knows."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    return certificate


def test_a_mail_arrives_with_what_it_says_whom_it_is_from_and_when(server: MailServer):
    assert sent(server.environ()) == "the mail server said 250 2.0.0 kept"
    (mail,) = server.mails
    assert (mail.sender, mail.recipients) == ("evalplatform@example.com", (TO,))
    assert (mail.message["Subject"], mail.text) == (MESSAGE.subject, MESSAGE.text)
    assert (mail.message["From"], mail.message["To"]) == ("evalplatform <evalplatform@example.com>", TO)
    assert mail.message["Date"].datetime == NOON
    assert mail.message["Auto-Submitted"] == "auto-generated"


def test_attempts_at_one_delivery_have_one_message_id_and_other_deliveries_have_others(server: MailServer):
    for message, to in ((MESSAGE, TO), (MESSAGE, TO), (MESSAGE, "b@example.com"), (MESSAGE.with_changes(id="another"), TO)):
        sent(server.environ(), message, to=to)
    ids = [mail.message["Message-ID"] for mail in server.mails]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert all(name.endswith("@example.com>") for name in ids)


def test_letters_of_all_scripts_and_long_lines_arrive_over_a_server_that_takes_short_lines_of_ascii(server: MailServer):
    told = MESSAGE.with_changes(subject="Läden 店舗: drift detected " + "x" * 300)
    texts = ("返金 Rückgabe 👩‍👩‍👧\n", "y" * 3_000 + "\n", "\n.\n..\nlast\n")
    for text in texts:
        sent(server.environ(), told.with_changes(text=text))
    assert [(mail.message["Subject"], mail.text) for mail in server.mails] == [(told.subject, text) for text in texts]
    assert all(mail.content.isascii() for mail in server.mails)
    assert max(len(line) for mail in server.mails for line in mail.content.splitlines()) <= 998


def test_a_domain_of_other_letters_is_told_to_the_server_in_its_own(server: MailServer):
    sent(server.environ(), to="ops@münchen.example")
    assert server.mails[0].recipients == ("ops@xn--mnchen-3ya.example",)


@settings(max_examples=25)
@given(subject=st.text(min_size=1), text=st.text())
def test_no_subject_and_no_text_adds_a_header_or_a_recipient(subject: str, text: str):
    with running_mail_server() as server:
        sent(server.environ(), MESSAGE.with_changes(subject=subject, text=text))
    (mail,) = server.mails
    assert sorted(mail.message.keys()) == sorted(
        ["Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"]
    )
    assert mail.recipients == (TO,)
    assert not any(category(letter) == "Cc" for letter in mail.message["Subject"])


@pytest.mark.parametrize(
    "address",
    [
        "a@example.com, b@example.com",
        "a@example.com b@example.com",
        "Ana <a@example.com>",
        "<a@example.com>",
        "a@example.com\r\nBcc: b@example.com",
        "a@example.com\nRCPT TO:<b@example.com>",
        "a@example.com> SIZE=1",
        "jürgen@example.com",
        "a(b)@example.com",
        "a@",
        "@example.com",
        "nobody",
        "",
    ],
)
def test_what_is_not_one_address_is_mailed_to_nobody(server: MailServer, address: str):
    assert refused(server.environ(), to=address) == "the address is none that can be mailed"
    assert server.mails == []


def test_a_mail_goes_over_tls_where_the_server_offers_it(trusted: Certificate):
    with running_mail_server(starttls=trusted.server_context()) as server:
        sent(server.environ())
    assert server.mails[0].over_tls


def test_a_mail_goes_over_tls_from_the_start_where_the_address_says_so(trusted: Certificate):
    with running_mail_server(implicit_tls=trusted.server_context()) as server:
        sent(server.environ(scheme="smtps"))
    assert server.mails[0].over_tls


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_that_nobody_vouches_for_gets_no_mail(certificate: Certificate, scheme: str):
    context = certificate.server_context()
    with running_mail_server(**{"starttls" if scheme == "smtp" else "implicit_tls": context}) as server:
        said = refused(server.environ(scheme=scheme))
    assert said == "the mail server did not take it: its certificate is not valid: self-signed certificate"
    assert server.mails == []


def test_a_certificate_of_another_host_gets_no_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = self_signed(tmp_path, names=("mail.example.com",))
    monkeypatch.setenv("SSL_CERT_FILE", str(other.file))
    with running_mail_server(starttls=other.server_context()) as server:
        assert "certificate is not valid" in refused(server.environ())
    assert server.mails == []


def test_a_mail_is_signed_in_for_where_there_is_a_user(trusted: Certificate):
    with running_mail_server(starttls=trusted.server_context(), sign_in=("ana", "pa55word")) as server:
        sent(server.environ() | SIGN_IN)
    assert (server.mails[0].signed_in, server.mails[0].over_tls) == ("ana", True)


def test_a_wrong_password_is_said_in_the_servers_words(trusted: Certificate):
    with running_mail_server(starttls=trusted.server_context(), sign_in=("ana", "another")) as server:
        said = refused(server.environ() | SIGN_IN)
    assert said.startswith("the mail server said 535 ")
    assert server.mails == []


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_password_never_goes_over_a_plain_connection_to_another_machine():
    with running_mail_server(host="127.0.0.2", sign_in=("ana", "pa55word")) as server:
        said = refused(server.environ() | SIGN_IN)
    assert said == "the mail server offers no TLS, and a password is never sent without"


def test_a_password_that_a_server_repeats_is_blanked():
    encoded = b64encode(b"\0ana\0pa55word").decode()
    dialogue = smtp_dialogue(b"250-mail\r\n250 AUTH PLAIN\r\n", b"535 you said {heard}, that is pa55word\r\n", b"221 bye\r\n")
    with raw_server(dialogue) as server:
        said = refused(at(server.port) | SIGN_IN)
    assert said == "the mail server said 535 you said [secret], that is [secret]"
    assert encoded not in said


def test_a_password_that_smtp_cannot_carry_is_not_shown_either():
    with raw_server(smtp_dialogue(b"250-mail\r\n250 AUTH PLAIN\r\n", b"221 bye\r\n")) as server:
        said = refused(at(server.port) | SIGN_IN | {"EVALPLATFORM_SMTP_PASSWORD": PASSWORD})
    assert said == "the address, the user or the password holds a character that the mail server cannot be told"


@pytest.mark.parametrize("words", ["550 5.1.1 no such user here", "451 4.7.1 greylisted, try again", "452 mailbox full"])
def test_a_recipient_that_is_refused_is_said_in_the_servers_words(server: MailServer, words: str):
    server.refused[TO] = words
    assert refused(server.environ()) == f"the mail server said {words}"


def test_a_mail_that_is_refused_is_said_in_the_servers_words_on_one_line():
    words = "554-5.7.1 spam\r\n554 says \x1b[31mour\u202e filter " + "z" * 1_000 + "\r\n"
    with raw_server(smtp_dialogue(b"250 mail\r\n", b"250 OK\r\n", b"250 OK\r\n", words.encode())) as server:
        said = refused(at(server.port))
    assert said.startswith("the mail server said 554 5.7.1 spam says ⟨U+001B⟩[31mour⟨U+202E⟩ filter zzz")
    assert len(said) == 300


def test_a_mail_that_was_taken_is_taken_however_the_server_says_goodbye():
    dialogue = smtp_dialogue(b"250 mail\r\n", b"250 OK\r\n", b"250 OK\r\n", b"354 go on\r\n", b"421 4.3.0 something is wrong\r\n")
    with raw_server(dialogue) as server:
        assert sent(at(server.port)) == "the mail server said 250 2.0.0 kept as 4711"


def test_a_server_that_is_not_there_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert refused(at(port)) == "the mail server did not take it: Connection refused"
    assert refused({**at(25), "EVALPLATFORM_SMTP_URL": "smtp://mail.invalid"}) == "the mail server did not take it: its name is not known"


def test_a_server_of_several_addresses_is_asked_at_the_first_that_answers(server: MailServer, monkeypatch: pytest.MonkeyPatch):
    there = socket.getaddrinfo("127.0.0.1", server.port, type=socket.SOCK_STREAM)
    gone = socket.getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)  # a port at which nobody listens
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [*gone, *there])
    sent(server.environ())
    assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("scheme", "talk"),
    [
        pytest.param("smtp", silence, id="silence"),
        pytest.param("smtp", dripping(b"220 mail", b" "), id="a greeting that never ends"),
        pytest.param("smtp", dripping(b"220-mail\r\n", b"220-and more\r\n"), id="a greeting of ever more lines"),
        pytest.param("smtp", dripping(b"220 mail\r\n250-mail\r\n", b"250-and more\r\n"), id="an answer of ever more lines"),
        pytest.param("smtps", silence, id="silence before the handshake"),
        pytest.param("smtps", dripping(b"\x16\x03\x03\x3f\xff", b"\x02"), id="a handshake that never ends"),
    ],
)
def test_a_server_that_never_comes_to_an_end_is_left(scheme: str, talk: Talk):
    with raw_server(talk) as server:
        mailer = SmtpMailer(f"{scheme}://127.0.0.1:{server.port}", "evalplatform@example.com", ManualClock(NOON), timeout_seconds=0.2)
        with pytest.raises(NotDeliveredError) as error:
            mailer.send(MESSAGE, address=TO)
    assert str(error.value) == "the mail server did not take it: no answer within 0.2 s"


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\xff\xfe\r\n", b"", b"999\r\n"])
def test_what_is_no_mail_server_is_no_delivery(garbage: bytes):
    with raw_server(lambda connection: connection.sendall(garbage)) as server:
        assert refused(at(server.port)).startswith("the mail server ")


def test_without_a_sender_or_a_server_no_mail_goes(server: MailServer):
    environ = server.environ()
    del environ["EVALPLATFORM_MAIL_FROM"]
    assert refused(environ) == "EVALPLATFORM_MAIL_FROM is not set, and no mail goes without a sender"
    assert refused({}) == "the deployment has no mail server"
    assert (notifier(environ).sends_mail, notifier({}).sends_mail) == (True, False)
    assert server.mails == []


def test_the_password_is_in_no_representation():
    assert "pa55word" not in repr(SmtpMailer.of_deployment(DeploymentSettings.from_environment(at(25) | SIGN_IN), clock=ManualClock(NOON)))


def at(port: int) -> dict[str, str]:
    return {"EVALPLATFORM_SMTP_URL": f"smtp://127.0.0.1:{port}", "EVALPLATFORM_MAIL_FROM": "evalplatform@example.com"}
