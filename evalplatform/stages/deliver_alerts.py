"""Delivering alerts: each is claimed in the store before it is sent, and what the receiver said is stored after.

Who is killed between claim and word leaves a delivery that is tried again when its next attempt is due: an alert may then arrive twice,
with one message id, and is not lost.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.monitoring.alerts import (
    affected_scenarios,
    alert_document,
    claimed,
    delivered,
    due_deliveries,
    not_delivered,
    with_delivery,
)
from evalplatform.ports.notifier import Message
from evalplatform.reports.alert_words import alert_subject, alert_text
from evalplatform.runs.night import Delivery, DeliveryState, Night
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.monitoring_facts import night_facts
from evalplatform.stages.night_reports import night_artifact, night_link

LOOK_SECONDS = 30.0
"""From then on one look begins no further attempt; the one under way may take as long as its channel allows."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class DeliveredAlerts(NamedTuple):
    """What one look came to: deliveries that were taken, that are tried again, that have failed for good, and that it had no time for."""

    sent: int = 0
    to_try_again: int = 0
    failed: int = 0
    left: int = 0


def deliver_alerts(context: MonitoringContext, *, within_seconds: float = LOOK_SECONDS) -> DeliveredAlerts:
    """Try every delivery that is due once, those that wait longest first. It never changes a night's answer.

    Args:
        context: the monitoring side of the project.
        within_seconds: when this time is over no further attempt begins; what is left is due at the next look.

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    began_seconds = context.clock.monotonic_seconds()
    states: list[DeliveryState] = []
    due = _due(context)
    for tried, (key, place) in enumerate(due):
        if context.clock.monotonic_seconds() - began_seconds >= within_seconds:
            return _counted(states, left=len(due) - tried)
        state = _tried(context, key, place)
        if state is not None:
            states.append(state)
    return _counted(states, left=0)


def report_link(context: MonitoringContext, night: Night) -> str | None:
    """Return where a person reads a night's report, with its comparison; None for a night of the sentinel that no report was made of."""
    if night.source == "sentinel":  # of the nights of one day one has the report
        manifest = context.catalog.current(night_artifact(context, night))
        if manifest is None or night_facts(manifest).key != night.key:
            return None
    return night_link(context, night)


def _due(context: MonitoringContext) -> list[tuple[str, int]]:
    """Return the night's key and the place of every delivery that is due, the longest due first."""
    now = context.clock.now()
    found = [
        (night.alert.deliveries[place].next_attempt_at or LONG_AGO, night.key, place)
        for night in context.store.open_alerts()
        if night.alert is not None
        for place in due_deliveries(night.alert, now=now)
    ]
    return [(key, place) for _, key, place in sorted(found)]


def _counted(states: list[DeliveryState], *, left: int) -> DeliveredAlerts:
    return DeliveredAlerts(sent=states.count("sent"), to_try_again=states.count("pending"), failed=states.count("failed"), left=left)


def _tried(context: MonitoringContext, key: str, place: int) -> DeliveryState | None:
    """Claim a delivery, send it, and return its state; None where somebody else is at it."""
    claim = _claim(context, key, place)
    if claim is None:
        return None
    night, ours = claim
    if ours.state == "failed":
        return ours.state
    try:
        outcome = context.notifier.send(_message(context, night), channel=ours.channel, address=ours.address)
        ended = delivered(ours, outcome)
    except NotDeliveredError as error:
        ended = not_delivered(ours, str(error))
    _keep(context, key, place, ours, ended)
    return ended.state


def _claim(context: MonitoringContext, key: str, place: int) -> tuple[Night, Delivery] | None:
    """Return a night and its delivery as it was claimed; None where it is not due any more."""
    while True:
        night = context.store.night(key)
        now = context.clock.now()
        if night is None or night.alert is None or place not in due_deliveries(night.alert, now=now):
            return None
        ours = claimed(_where_it_goes(context, night.alert.deliveries[place]), now=now)
        if context.store.replace_alert(key, old=night.alert, new=with_delivery(night.alert, place, ours)):
            return night, ours
        # Another delivery of this alert has moved on, which each does a few times at the most; or this one has, and is not due any more.


def _where_it_goes(context: MonitoringContext, delivery: Delivery) -> Delivery:
    """Return a delivery with the address that it goes to now: the deployment's webhook may be another one than when the night ended."""
    webhook = context.notifier.webhook
    return delivery if delivery.channel == "email" or webhook is None else delivery.with_changes(address=webhook)


def _keep(context: MonitoringContext, key: str, place: int, ours: Delivery, ended: Delivery) -> None:
    """Store how an attempt ended; other deliveries of the same alert may have changed meanwhile."""
    while True:
        night = context.store.night(key)
        if night is None or night.alert is None or night.alert.deliveries[place] != ours:
            return
        if context.store.replace_alert(key, old=night.alert, new=with_delivery(night.alert, place, ended)):
            return


def _message(context: MonitoringContext, night: Night) -> Message:
    settings = context.project.settings
    link = report_link(context, night)
    affected = affected_scenarios(night, drifted_before=_drifted_before(context, night))
    assert night.alert is not None  # it is what is sent
    return Message(
        id=f"{settings.tenant}.{settings.project}.{night.key}.{night.alert.kind}",
        subject=alert_subject(night, project=settings.project),
        text=alert_text(night, affected, project=settings.project, link=link),
        document=alert_document(night, affected, project=settings.project, tenant=settings.tenant, link=link),
    )


def _drifted_before(context: MonitoringContext, night: Night) -> tuple[str, ...]:
    """Return the scenarios that had drifted on the last checked night of the stream before this one."""
    earlier = context.store.nights(stream=night.stream, before=night.slot.at)
    last_checked = next((one for one in earlier if one.is_checked), None)
    return () if last_checked is None else tuple(scenario.scenario_id for scenario in last_checked.drifted)
