"""Opens the channels of a deployment."""

from evalplatform.adapters.notifiers.smtp import SmtpMailer
from evalplatform.adapters.notifiers.webhook import Webhook
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.ports.clock import Clock
from evalplatform.ports.notifier import Message
from evalplatform.project.deployment import DeploymentSettings
from evalplatform.runs.night import Channel


class Channels:
    """The Notifier port over a mail server and a webhook, either of which a deployment may be without."""

    def __init__(self, mailer: SmtpMailer | None, webhook: Webhook | None) -> None:
        self._mailer = mailer
        self._webhook = webhook

    @property
    def webhook(self) -> str | None:
        """Scheme, host and port of the webhook; None without one."""
        return None if self._webhook is None else self._webhook.shown

    @property
    def sends_mail(self) -> bool:
        """Whether there is a mail server."""
        return self._mailer is not None

    def send(self, message: Message, *, channel: Channel, address: str) -> str:
        """Send a message and return what the receiver said. Raises NotDeliveredError, also where the deployment has no such channel."""
        if channel == "webhook":
            if self._webhook is None:
                raise NotDeliveredError("the deployment has no webhook any more")
            return self._webhook.send(message)
        if self._mailer is None:
            raise NotDeliveredError("the deployment has no mail server")
        return self._mailer.send(message, address=address)


def open_notifier(deployment: DeploymentSettings, *, clock: Clock) -> Channels:
    """Return the deployment's channels. Nothing is connected before the first message.

    A channel that lacks a setting, such as the sender of mails, fails what it is to send and nothing else: no night stays unchecked for it.
    """
    return Channels(SmtpMailer.of_deployment(deployment, clock=clock), Webhook.of_deployment(deployment, clock=clock))
