"""When an alert is delivered, and what it says as data. It names scenarios and never holds what an agent said or did."""

from datetime import datetime, timedelta

from pydantic import JsonValue

from evalplatform.runs.night import Alert, Delivery, Night

RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=25))
"""How long after each failed attempt the next one is due; after the last of them the delivery has failed for good."""
MOST_ATTEMPTS = 1 + len(RETRY_AFTER)


def due_deliveries(alert: Alert, *, now: datetime) -> tuple[int, ...]:
    """Return the places of the deliveries that are to be tried now."""
    return tuple(
        place
        for place, delivery in enumerate(alert.deliveries)
        if delivery.state == "pending" and (delivery.next_attempt_at is None or delivery.next_attempt_at <= now)
    )


def claimed(delivery: Delivery, *, now: datetime) -> Delivery:
    """Return a delivery of which an attempt begins.

    It is counted, and the next one set, before anything is sent: whoever is killed in between has used one attempt up, and two who deliver
    at once never send one alert twice.
    """
    attempts = delivery.attempts + 1
    wait = RETRY_AFTER[min(attempts, len(RETRY_AFTER)) - 1]
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


def affected_scenarios(night: Night) -> tuple[str, ...]:
    """Return the ids of the scenarios that a night's alert is about: those that drifted, and those that could not be watched."""
    return tuple(scenario.scenario_id for scenario in night.scenarios if scenario.drifted or scenario.dead is not None)


def alert_document(night: Night, *, project: str, tenant: str, link: str) -> dict[str, JsonValue]:
    """Return the alert of a night as JSON for a program: the night, its standing and reason, and which scenarios. No trajectory content."""
    assert night.alert is not None  # what is told has an alert
    return {
        "schema_version": 1,
        "alert": night.alert.kind,
        "tenant": tenant,
        "project": project,
        "source": night.source,
        "stream": night.stream,
        "night": night.key,
        "slot": {"at": night.slot.at.isoformat(), "local_date": night.slot.local_date.isoformat()},
        "standing": night.state,
        "reason": night.reason,
        "scenarios": [
            {
                "id": scenario.scenario_id,
                "verdict_drifted": scenario.verdict_drifted,
                "path_drifted": scenario.path_drifted,
                "dead_sensor": None if scenario.dead is None else scenario.dead.kind,
            }
            for scenario in night.scenarios
            if scenario.drifted or scenario.dead is not None
        ],
        "replay_batch": night.replay_batch,
        "live_batch": night.live_batch,
        "link": link,
    }
