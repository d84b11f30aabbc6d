"""A real mail server on loopback: it keeps what it takes, and refuses whom the test says."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

ACCEPTED = "250 2.0.0 kept"


@dataclass(frozen=True)
class Mail:
    """A mail as it came: envelope, bytes, whether it came over TLS, and who had signed in."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    over_tls: bool
    signed_in: str | None

    @property
    def message(self) -> EmailMessage:
        parsed = message_from_bytes(self.content, policy=default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    @property
    def text(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")


@dataclass
class MailServer:
    """What the server took, and what it is to answer: to a recipient by address, and to any mail's text."""

    port: int = 0
    host: str = "127.0.0.1"
    mails: list[Mail] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    says_to_mail: str = ACCEPTED
    sign_in: tuple[str, str] | None = None

    def to(self, address: str) -> list[Mail]:
        return [mail for mail in self.mails if address in mail.recipients]

    def environ(self, *, scheme: str = "smtp") -> dict[str, str]:
        """The deployment's variables that lead here."""
        url = f"{scheme}://{self.host}:{self.port}"
        return {"EVALPLATFORM_SMTP_URL": url, "EVALPLATFORM_MAIL_FROM": "evalplatform@example.com"}

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.says_to_mail.startswith("250"):
            assert isinstance(envelope.content, bytes)
            recipients = tuple(envelope.rcpt_tos)
            over_tls = session.ssl is not None or server.transport.get_extra_info("sslcontext") is not None
            who = session.auth_data.login.decode() if isinstance(session.auth_data, LoginPassword) else None
            self.mails.append(Mail(envelope.mail_from or "", recipients, envelope.content, over_tls, who))
        return self.says_to_mail

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert self.sign_in is not None
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self.sign_in, handled=False, auth_data=data)


@contextmanager
def running_mail_server(
    *,
    host: str = "127.0.0.1",
    starttls: ssl.SSLContext | None = None,
    implicit_tls: ssl.SSLContext | None = None,
    sign_in: tuple[str, str] | None = None,
) -> Iterator[MailServer]:
    """The server in a thread of this process, on a free port, until the block ends."""
    mail_server = MailServer(host=host, sign_in=sign_in)
    loop = asyncio.new_event_loop()

    def connection() -> SMTP:
        options: dict[str, Any] = {"auth_require_tls": False, "authenticator": mail_server.authenticate} if sign_in else {}
        return SMTP(mail_server, hostname="mail.example.com", tls_context=starttls, loop=loop, **options)

    async def listen() -> asyncio.Server:
        return await loop.create_server(connection, host, 0, ssl=implicit_tls)

    async def stop() -> None:
        listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, name="mail-server", daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(listen(), loop).result(timeout=10)
    mail_server.port = listening.sockets[0].getsockname()[1]
    try:
        yield mail_server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
