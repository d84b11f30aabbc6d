"""Mail by SMTP.

A connection is encrypted wherever the server can do it, with a certificate that is checked; what the server offers and then fails at is not
gone on without. A password never goes over a plain connection to another machine.
"""

import smtplib
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as MAIL_POLICY
from email.utils import format_datetime
from typing import TypeVar
from urllib.parse import urlsplit

from evalplatform.adapters.agents.redaction import Redactor
from evalplatform.adapters.notifiers.time_limit import TimeLimit
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.ports.clock import Clock
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings, variable_of
from evalplatform.reports.visible import one_line

TIMEOUT_SECONDS = 20.0
PORTS = {"smtp": 25, "smtps": 465}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_OUTCOME_CHARS = 300
SENDER_NAME = "evalplatform"
MESSAGE_ID_CHARS = 32

T = TypeVar("T")


@dataclass(frozen=True)
class SmtpMailer:
    """A mail server, who signs in there, and as whom alerts are sent.

    Attributes:
        url: `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`, as the deployment's settings have checked it.
        sender: an address; None where the deployment names none, and then nothing can be sent.
        clock: dates the mails.
        user, password: for signing in; without a user nobody does.
        timeout_seconds: for one mail, from the connection to the server's last word.
    """

    url: str
    sender: str | None
    clock: Clock
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_seconds: float = TIMEOUT_SECONDS

    @classmethod
    def of_deployment(cls, deployment: DeploymentSettings, *, clock: Clock) -> "SmtpMailer | None":
        """Return the deployment's mail server, or None where it has none."""
        if deployment.smtp_url is None:
            return None
        return cls(deployment.smtp_url, deployment.mail_from, clock, deployment.smtp_user, deployment.smtp_password)

    def send(self, message: Message, *, address: str) -> str:
        """Send a mail to one address and return what the server said when it took it.

        Raises:
            NotDeliveredError: the server cannot be reached, or does not take it; also where the address is none.
        """
        mail = self._mail(message, address)

        def sent(connection: "_Connection") -> str:
            connection.send_message(mail, from_addr=self.sender, to_addrs=[str(mail["To"].addresses[0].addr_spec)])
            return connection.last_words

        return self._shown(self._told(sent))

    def check(self) -> None:
        """Connect, encrypt and sign in as for a mail, and send none.

        Raises:
            NotDeliveredError: that far it does not get; the text says why.
        """
        self._told(lambda connection: None)

    def _told(self, tell: Callable[["_Connection"], T]) -> T:
        """Return what `tell` gives over a connection that is ready for a mail; whatever goes wrong is a NotDeliveredError."""
        with TimeLimit(self.timeout_seconds) as limit:
            try:
                with self._ready(limit) as connection:
                    return tell(connection)
            except smtplib.SMTPRecipientsRefused as error:
                code, said = next(iter(error.recipients.values()))
                failure = _reply_words(code, said)
            except smtplib.SMTPResponseException as error:
                failure = _reply_words(error.smtp_code, error.smtp_error)
            except UnicodeError:
                failure = "the address, the user or the password holds a character that the mail server cannot be told"
            except (smtplib.SMTPException, OSError, ValueError) as error:
                failure = f"the mail server did not take it: {limit.failure_words(error)}"
        raise NotDeliveredError(self._shown(failure))

    @contextmanager
    def _ready(self, limit: TimeLimit) -> Iterator["_Connection"]:
        """Yield a connection that is encrypted where it can be and signed in where it must be, and leave it politely, or at all."""
        parts = urlsplit(self.url)
        host, tls = parts.hostname or "", ssl.create_default_context()
        is_private = parts.scheme == "smtps"
        connection = _Connection(host, parts.port or PORTS[parts.scheme], limit=limit, tls=tls if is_private else None)
        try:
            connection.ehlo_or_helo_if_needed()
            if not is_private and connection.has_extn("starttls"):
                connection.starttls(context=tls)
                is_private = True
            if self.user is not None:
                if not (is_private or host in LOOPBACK):
                    raise NotDeliveredError("the mail server offers no TLS, and a password is never sent without")
                connection.login(self.user, self.password or "")
            yield connection
            # What was taken before is taken, however the server says goodbye.
            with suppress(smtplib.SMTPException, OSError):
                connection.quit()
        finally:
            connection.close()

    def _mail(self, message: Message, address: str) -> EmailMessage:
        if self.sender is None:
            raise NotDeliveredError(f"{variable_of('mail_from')} is not set, and no mail goes without a sender")
        mail = EmailMessage(policy=MAIL_POLICY)
        mail["Subject"] = one_line(message.subject)
        mail["From"] = Address(SENDER_NAME, addr_spec=self.sender)
        mail["To"] = _one_address(address)
        mail["Date"] = format_datetime(self.clock.now())
        # The same for every attempt, so that a mail that arrives twice is known to be one.
        digest = text_digest(f"{message.id} {address}").removeprefix("sha256:")[:MESSAGE_ID_CHARS]
        mail["Message-ID"] = f"<{digest}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence is to answer it
        mail.set_content(message.text, cte="quoted-printable")  # goes through servers that take 7 bits and short lines only
        return mail

    def _shown(self, words: str) -> str:
        password = self.password or ""
        signed_in = f"\0{self.user or ''}\0{password}"
        secrets = [password, *(b64encode(text.encode("utf-8", "replace")).decode() for text in (password, signed_in) if password)]
        return one_line(Redactor(secrets).text(words), MAX_OUTCOME_CHARS)


class _Connection(smtplib.SMTP):
    """An SMTP connection within a time limit, which keeps the server's answer to the mail itself."""

    def __init__(self, host: str, port: int, *, limit: TimeLimit, tls: ssl.SSLContext | None) -> None:
        self.last_words = ""
        self._limit = limit
        self._tls_from_the_start = tls
        super().__init__(host, port, local_hostname=_own_name(), timeout=limit.seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._limit.connect(host, port, tls=self._tls_from_the_start)

    def data(self, msg: object) -> tuple[int, bytes]:
        """Send the mail's text, and keep what the server says to it."""
        code, said = super().data(msg)  # type: ignore[arg-type]  # whatever smtplib hands from one of its methods to the next
        self.last_words = _reply_words(code, said)
        return code, said


def _own_name() -> str:
    """Return what this machine greets a server with, without asking anybody what it is called: that may take longer than a mail."""
    name = socket.gethostname()
    return name if "." in name else "[127.0.0.1]"


def _one_address(address: str) -> Address:
    """Return a mail address; a list of several, a name beside it or a line end in it would reach somebody else, and is refused."""
    try:
        one = Address(addr_spec=address)
    except Exception:  # the parser of the standard library fails in many ways
        raise NotDeliveredError("the address is none that can be mailed") from None
    if one.addr_spec != address or not one.domain:
        raise NotDeliveredError("the address is none that can be mailed")
    return Address(username=one.username, domain=_ascii_domain(one.domain))


def _ascii_domain(domain: str) -> str:
    """Return a domain as mail servers know it, which need not take any other letters (RFC 5890)."""
    return domain if domain.isascii() else domain.encode("idna").decode()


def _reply_words(code: int, said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"the mail server said {code} {text}"
