"""The notifier port: takes one message to one address."""

from typing import Protocol

from pydantic import JsonValue

from evalplatform.kernel.values import Value
from evalplatform.runs.night import Channel


class Message(Value):
    """What is sent.

    Attributes:
        id: the same for every attempt at one delivery, so that a receiver can tell a repetition.
        subject, text: the mail, in plain text.
        document: the webhook's JSON.
    """

    id: str
    subject: str
    text: str
    document: dict[str, JsonValue]


class Notifier(Protocol):
    """The channels of a deployment."""

    @property
    def webhook(self) -> str | None:
        """Where webhooks go, without anything secret; None where the deployment has none."""
        ...

    @property
    def sends_mail(self) -> bool:
        """Whether the deployment has a mail server."""
        ...

    def send(self, message: Message, *, channel: Channel, address: str) -> str:
        """Send a message and return what the receiver said, in a few words.

        Raises:
            NotDeliveredError: it was not taken, with the receiver's or the connection's words, without secrets.
        """
        ...
