"""Mail by SMTP."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import SplitResult, urlsplit

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError, NotDeliveredError
from evalplatform.kernel.text import clip
from evalplatform.ports.clock import Clock
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings, variable_of

TIMEOUT_SECONDS = 20.0
PORTS = {"smtp": 25, "smtps": 465}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_OUTCOME_CHARS = 300


@dataclass(frozen=True)
class SmtpMailer:
    """A mail server, and who signs in there. What is sent goes over TLS wherever the server offers it; a password never goes without."""

    server: SplitResult
    sender: str
    clock: Clock
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of_deployment(cls, deployment: DeploymentSettings, *, clock: Clock) -> "SmtpMailer | None":
        """Return the deployment's mail server, or None where it has none.

        Raises:
            InputError: its address is none, carries a password, or no sender is set.
        """
        if deployment.smtp_url is None:
            return None
        server = _checked_server(deployment.smtp_url)
        if deployment.mail_from is None or "@" not in deployment.mail_from:
            raise InputError("must be the address that alerts are sent from.", field=variable_of("mail_from"))
        return cls(server, deployment.mail_from, clock, deployment.smtp_user, deployment.smtp_password)

    def send(self, message: Message, *, address: str) -> str:
        """Send a mail to one address and return what the server said.

        Raises:
            NotDeliveredError: the server cannot be reached, or does not take it.
        """
        mail = self._mail(message, address)
        try:
            with self._connected() as connection:
                connection.send_message(mail, from_addr=self.sender, to_addrs=[address])
        except smtplib.SMTPRecipientsRefused as error:
            code, said = next(iter(error.recipients.values()))
            raise NotDeliveredError(_said(code, said)) from None
        except smtplib.SMTPResponseException as error:
            raise NotDeliveredError(_said(error.smtp_code, error.smtp_error)) from None
        except (smtplib.SMTPException, OSError) as error:  # an ssl.SSLError is an OSError
            raise NotDeliveredError(clip(f"the mail server did not take it: {_named(error)}", MAX_OUTCOME_CHARS)) from None
        return "the mail server took it"

    def _mail(self, message: Message, address: str) -> EmailMessage:
        mail = EmailMessage()
        try:
            mail["Subject"], mail["From"], mail["To"] = message.subject, self.sender, address
        except ValueError:  # a line end in one of them would begin a header of its own
            raise NotDeliveredError("the address is none that can be mailed") from None
        mail["Date"] = format_datetime(self.clock.now())
        # The same for every attempt, so that a mail that arrives twice is known to be one.
        mail["Message-ID"] = f"<{text_digest(f'{message.id} {address}').removeprefix('sha256:')[:32]}@evalplatform>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.text)
        return mail

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        host, port = self.server.hostname or "", self.server.port or PORTS[self.server.scheme]
        context = ssl.create_default_context()
        if self.server.scheme == "smtps":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=context)
        else:
            connection = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
        with connection:
            connection.ehlo()
            is_private = self.server.scheme == "smtps"
            if not is_private and connection.has_extn("starttls"):
                connection.starttls(context=context)
                connection.ehlo()
                is_private = True
            if self.user is not None and self.password is not None:
                if not (is_private or host in LOOPBACK):
                    raise NotDeliveredError("the mail server offers no TLS, and a password is never sent without")
                connection.login(self.user, self.password)
            yield connection


def _checked_server(url: str) -> SplitResult:
    try:
        server = urlsplit(url)
        usable = server.scheme in PORTS and bool(server.hostname) and server.port != 0
    except ValueError:  # an open bracket, a port out of range
        usable = False
    if not usable:
        raise InputError("must be smtp://HOST or smtps://HOST, with a port where it is not the usual one.", field=variable_of("smtp_url"))
    if server.username is not None or server.password is not None:
        rule = f"must carry no user or password; {variable_of('smtp_user')} and {variable_of('smtp_password')} hold them."
        raise InputError(rule, field=variable_of("smtp_url"))
    return server


def _said(code: int, said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return clip(f"the mail server said {code} {' '.join(text.split())}", MAX_OUTCOME_CHARS)


def _named(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
