"""The end of a night: what stands after it, what that is told with, and one write of all of it."""

from collections.abc import Sequence

from evalplatform.monitoring.standings import Standing, standing_after
from evalplatform.runs.night import Alert, AlertKind, Delivery, Night
from evalplatform.stages.monitoring_context import MonitoringContext


def finish_night(context: MonitoringContext, night: Night, *, recipients: Sequence[str]) -> Night:
    """Store the end of a pending night with its alert, and return it as it is stored.

    Args:
        context: the monitoring side of the project.
        night: as it ended, `ended_at` and `alert` not set yet.
        recipients: who is mailed of a change.

    Returns:
        The night; where another attempt has taken it over or ended it meanwhile, that one's.

    Raises:
        StorageUnavailableError: the store does not answer; finishing again is safe.
    """
    ended = _ended(context, night, recipients)
    if context.store.finish(ended):
        return ended
    there = context.store.night(night.key)
    return ended if there is None else there


def record_failed(context: MonitoringContext, night: Night, *, recipients: Sequence[str]) -> Night:
    """Store a night that never began, such as a missed slot, with its alert; where one of its slot is there, return that.

    Raises:
        StorageUnavailableError: the store does not answer; recording again is safe.
    """
    return context.store.record(_ended(context, night, recipients))


def standing_before(context: MonitoringContext, night: Night) -> Standing:
    """Return what stood in a night's stream before its slot."""
    return standing_after(context.store.nights(stream=night.stream, before=night.slot.at))


def _ended(context: MonitoringContext, night: Night, recipients: Sequence[str]) -> Night:
    kind = standing_before(context, night).alert_of(night.state)
    alert = None if kind is None else _alert(context, kind, recipients)
    return night.with_changes(ended_at=context.clock.now(), alert=alert)


def _alert(context: MonitoringContext, kind: AlertKind, recipients: Sequence[str]) -> Alert:
    now = context.clock.now()
    deliveries = [Delivery(channel="email", address=address, next_attempt_at=now) for address in recipients]
    if context.notifier.webhook is not None:
        deliveries.append(Delivery(channel="webhook", address=context.notifier.webhook, next_attempt_at=now))
    return Alert(kind=kind, deliveries=tuple(deliveries))
