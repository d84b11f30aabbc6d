"""The end of a night: what stands after it, what that is told with, and one write of all of it."""

from collections.abc import Sequence
from itertools import chain

from evalplatform.monitoring.standings import change_of, standing_after
from evalplatform.runs.night import Alert, AlertKind, Delivery, Night
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_legs import nights_folder, remove_legs


def finish_night(context: MonitoringContext, night: Night, *, recipients: Sequence[str]) -> Night:
    """Store the end of a pending night with its alert, and return it as it is stored. The bundles of a night that has ended are removed.

    Args:
        context: the monitoring side of the project.
        night: as it ended, `ended_at` and `alert` not set yet.
        recipients: who is mailed of a change.

    Returns:
        The night; where another attempt has taken it over or ended it meanwhile, that one's. One that is still at it keeps the bundles.

    Raises:
        StorageUnavailableError: the store does not answer; finishing again is safe.
    """
    ended = _ended(context, night, recipients)
    stored = ended if context.store.finish(ended) else context.store.night(night.key) or ended
    if stored.state != "pending":
        remove_legs(nights_folder(context.project), night.key)
    return stored


def record_failed(context: MonitoringContext, night: Night, *, recipients: Sequence[str]) -> Night:
    """Store a night that never began, such as a missed slot, with its alert; where one of its slot is there, return that.

    Raises:
        StorageUnavailableError: the store does not answer; recording again is safe.
    """
    return context.store.record(_ended(context, night, recipients))


def _ended(context: MonitoringContext, night: Night, recipients: Sequence[str]) -> Night:
    kind = _change(context, night)
    alert = None if kind is None else _alert(context, kind, recipients)
    return night.with_changes(ended_at=context.clock.now(), alert=alert)


def _change(context: MonitoringContext, night: Night) -> AlertKind | None:
    """Return what a night's end changes in its stream; later nights may have ended before it, and been told of."""
    nights = context.store.nights
    later = [one for one in nights(stream=night.stream, since=night.slot.at) if one.slot.at > night.slot.at]
    before = standing_after(chain(later, nights(stream=night.stream, before=night.slot.at)))
    return change_of(before, standing_after(chain(later, [night], nights(stream=night.stream, before=night.slot.at))))


def _alert(context: MonitoringContext, kind: AlertKind, recipients: Sequence[str]) -> Alert:
    now = context.clock.now()
    deliveries = [Delivery(channel="email", address=address, next_attempt_at=now) for address in recipients]
    if context.notifier.webhook is not None:
        deliveries.append(Delivery(channel="webhook", address=context.notifier.webhook, next_attempt_at=now))
    return Alert(kind=kind, deliveries=tuple(deliveries))
