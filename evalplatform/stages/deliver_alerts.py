"""Delivering alerts: each is claimed in the store before it is sent, and what the receiver said is stored after.

Who is killed between claim and word leaves a delivery that is tried again when its next attempt is due: an alert may then arrive twice,
with one message id, and is never lost.
"""

from typing import NamedTuple

from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.monitoring.alerts import alert_document, claimed, delivered, due_deliveries, not_delivered, with_delivery
from evalplatform.ports.notifier import Message
from evalplatform.reports.alert_words import alert_subject, alert_text
from evalplatform.runs.night import Delivery, Night
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_reports import night_link

MAX_CLAIM_TRIES = 5


class DeliveredAlerts(NamedTuple):
    """What one look came to: deliveries that were taken, that are tried again, and that have failed for good."""

    sent: int = 0
    to_try_again: int = 0
    failed: int = 0


def deliver_alerts(context: MonitoringContext) -> DeliveredAlerts:
    """Try every delivery that is due once. It never changes a night's answer.

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    states = [
        state
        for night in context.store.open_alerts()
        if night.alert is not None
        for place in due_deliveries(night.alert, now=context.clock.now())
        if (state := _tried(context, night.key, place)) is not None
    ]
    return DeliveredAlerts(sent=states.count("sent"), to_try_again=states.count("pending"), failed=states.count("failed"))


def _tried(context: MonitoringContext, key: str, place: int) -> str | None:
    """Claim a delivery, send it, and return its state; None where somebody else is at it."""
    night = context.store.night(key)
    now = context.clock.now()
    if night is None or night.alert is None or place not in due_deliveries(night.alert, now=now):
        return None
    ours = claimed(night.alert.deliveries[place], now=now)
    if not context.store.replace_alert(key, old=night.alert, new=with_delivery(night.alert, place, ours)):
        return None
    try:
        outcome = context.notifier.send(_message(context, night, ours), channel=ours.channel, address=ours.address)
        ended = delivered(ours, outcome)
    except NotDeliveredError as error:
        ended = not_delivered(ours, str(error))
    _keep(context, key, place, ours, ended)
    return ended.state


def _keep(context: MonitoringContext, key: str, place: int, ours: Delivery, ended: Delivery) -> None:
    """Store how an attempt ended; other deliveries of the same alert may have changed meanwhile."""
    for _ in range(MAX_CLAIM_TRIES):
        night = context.store.night(key)
        if night is None or night.alert is None or night.alert.deliveries[place] != ours:
            return
        if context.store.replace_alert(key, old=night.alert, new=with_delivery(night.alert, place, ended)):
            return


def _message(context: MonitoringContext, night: Night, delivery: Delivery) -> Message:
    settings = context.project.settings
    link = night_link(context, night)
    assert night.alert is not None  # it is what is sent
    return Message(
        id=f"{settings.tenant}.{settings.project}.{night.key}.{night.alert.kind}",
        subject=alert_subject(night, project=settings.project),
        text=alert_text(night, project=settings.project, link=link),
        document=alert_document(night, project=settings.project, tenant=settings.tenant, link=link),
    )
