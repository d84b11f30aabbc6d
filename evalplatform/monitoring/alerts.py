"""When an alert is delivered, and what it says as data. It names scenarios and never holds what an agent said or did."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from pydantic import JsonValue

from evalplatform.runs.night import Alert, Delivery, Night, WatchedScenario

RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=25))
"""How long after each attempt that was not taken the next one is due; after the last of them the delivery has failed for good."""
MOST_ATTEMPTS = 1 + len(RETRY_AFTER)
LAST_WORD_AFTER = timedelta(minutes=1)
"""How long the last attempt may take to say how it ended; no channel takes so long."""
INTERRUPTED = "the last attempt was interrupted; whether it arrived is not known"
SCHEMA_VERSION = 1


def due_deliveries(alert: Alert, *, now: datetime) -> tuple[int, ...]:
    """Return the places of the deliveries that are to be tried now, or of which the last attempt was interrupted."""
    return tuple(
        place
        for place, delivery in enumerate(alert.deliveries)
        if delivery.state == "pending" and (delivery.next_attempt_at is None or delivery.next_attempt_at <= now)
    )


def claimed(delivery: Delivery, *, now: datetime) -> Delivery:
    """Return a due delivery of which an attempt begins; where all have begun, and the last one never ended, it has failed.

    The attempt is counted, and the next one set, before anything is sent: whoever is killed in between has used one attempt up, and two who
    deliver at once never send one alert twice.
    """
    if delivery.attempts >= MOST_ATTEMPTS:
        return delivery.with_changes(state="failed", outcome=INTERRUPTED, next_attempt_at=None)
    attempts = delivery.attempts + 1
    wait = RETRY_AFTER[attempts - 1] if attempts < MOST_ATTEMPTS else LAST_WORD_AFTER
    return delivery.with_changes(attempts=attempts, next_attempt_at=now + wait)


def delivered(delivery: Delivery, outcome: str) -> Delivery:
    """Return a claimed delivery that the receiver took."""
    return delivery.with_changes(state="sent", outcome=outcome, next_attempt_at=None)


def not_delivered(delivery: Delivery, outcome: str) -> Delivery:
    """Return a claimed delivery that was not taken: it is tried again, or has failed for good after the last attempt."""
    if delivery.attempts < MOST_ATTEMPTS:
        return delivery.with_changes(outcome=outcome)
    return delivery.with_changes(state="failed", outcome=outcome, next_attempt_at=None)


def with_delivery(alert: Alert, place: int, delivery: Delivery) -> Alert:
    """Return an alert with one of its deliveries replaced."""
    deliveries = list(alert.deliveries)
    deliveries[place] = delivery
    return alert.with_changes(deliveries=tuple(deliveries))


def affected_scenarios(night: Night, *, drifted_before: Iterable[str] = ()) -> tuple[WatchedScenario, ...]:
    """Return the scenarios that a night's alert is about: those that drifted, and those that could not be watched or were not seen.

    Args:
        night: with an alert.
        drifted_before: the ids of those that had drifted on the last checked night. A recovery is about them.
    """
    if night.alert is not None and night.alert.kind == "recovered":
        recovered = set(drifted_before)
        return tuple(scenario for scenario in night.scenarios if scenario.scenario_id in recovered)
    return tuple(scenario for scenario in night.scenarios if scenario.drifted or scenario.dead is not None)


def alert_document(
    night: Night, affected: Iterable[WatchedScenario], *, project: str, tenant: str, link: str | None
) -> dict[str, JsonValue]:
    """Return the alert of a night as JSON for a program: the night, its standing and reason, and which scenarios. No trajectory content.

    Args:
        night: with an alert.
        affected: the scenarios that it is about.
        project, tenant: whose.
        link: where a person reads the night's report, with its comparison; None where there is none.
    """
    assert night.alert is not None  # what is told has an alert
    return {
        "schema_version": SCHEMA_VERSION,
        "alert": night.alert.kind,
        "tenant": tenant,
        "project": project,
        "source": night.source,
        "stream": night.stream,
        "night": night.key,
        "slot": {"at": night.slot.at.isoformat(), "local_date": night.slot.local_date.isoformat()},
        "standing": night.state,
        "reason": night.reason,
        "scenarios": [_scenario(scenario, is_flagged=night.state == "checked_flagged") for scenario in affected],
        "replay_batch": night.replay_batch,
        "live_batch": night.live_batch,
        "link": link,
    }


def _scenario(scenario: WatchedScenario, *, is_flagged: bool) -> dict[str, JsonValue]:
    return {
        "id": scenario.scenario_id,
        "verdict_drifted": is_flagged and scenario.verdict_drifted,
        "path_drifted": is_flagged and scenario.path_drifted,
        "dead_sensor": None if scenario.dead is None else scenario.dead.kind,
    }
