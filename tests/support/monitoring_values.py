"""Schedules and nights as values, spelled shortly, and one of each with every field set."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.night import Alert, DeadSensor, Delivery, Night, NightCost, Slot, WatchedScenario
from evalplatform.runs.schedule import Pin, Schedule, StoredHeader

FIRST = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
ENTRY = AuditEntry(actor="ana", action="schedules.save", subject="nightly", new_value={"runs": 2}, happened_at=FIRST)
DIGEST = "sha256:" + "1" * 64


def header(token: str) -> StoredHeader:
    """A stored Authorization value."""
    return StoredHeader(token=token, last_chars="9876", address="https://agent.example.com:443")


def schedule(name: str = "nightly", **changes: Any) -> Schedule:
    """A schedule that watches one scenario, daily."""
    facts: dict[str, Any] = {
        "id": name,
        "pins": (Pin(scenario_id="refund", batch_id="b-1", run_id="r-1", trajectory_digest=DIGEST),),
        "first_at": FIRST,
        "endpoint_url": "https://agent.example.com/run",
        "recipients": ("ana@example.com",),
        "active_since": FIRST,
        "saved_by": "ana",
        "saved_at": FIRST,
    }
    return Schedule.model_validate(facts | changes)


FULL_SCHEDULE = schedule(
    "half-hours.east",
    pins=tuple(
        Pin(scenario_id=name, batch_id="b-1", run_id=f"r-{number}", trajectory_digest=DIGEST)
        for number, name in enumerate(["refund", "Ünal 👩‍👩‍👧", "𝔘"])
    ),
    runs=4,
    cadence_seconds=5_400,
    timezone="Asia/Kolkata",
    timeout_seconds=0.1 + 0.2,
    auth=header("gAAAA-sealed"),
    recipients=("ana@example.com", "ünal@bücher.example"),
    is_on=False,
    active_since=FIRST + timedelta(microseconds=1),
)


def night(stream: str = "nightly", *, hours: float = 0, **changes: Any) -> Night:
    """A pending night of a slot that is so many hours after the first."""
    at = FIRST + timedelta(hours=hours)
    facts: dict[str, Any] = {"source": "monitor", "stream": stream, "slot": Slot(at=at, local_date=at.date()), "began_at": at}
    return Night.model_validate(facts | changes)


def ended(pending: Night, **changes: Any) -> Night:
    """The same night, checked clean unless said otherwise."""
    return pending.with_changes(**{"state": "checked_clean", "ended_at": pending.slot.at + timedelta(minutes=4)} | changes)


OPEN_ALERT = Alert(
    kind="drift_detected",
    deliveries=(
        Delivery(channel="email", address="ana@example.com", state="sent", attempts=1, outcome="250 ok"),
        Delivery(channel="webhook", address="https://hooks.example.com", attempts=2, outcome="503 später", next_attempt_at=FIRST),
    ),
)

FULL_NIGHT = Night(
    source="monitor",
    stream="half-hours.east",
    slot=Slot(at=FIRST, local_date=date(2026, 12, 2)),
    state="check_failed",
    reason="dead_sensor",
    detail="1 scenario could not be watched: Ünal 👩‍👩‍👧\nand a \\u0000 that is none",
    attempt=3,
    began_at=FIRST + timedelta(seconds=7, microseconds=1),
    ended_at=FIRST + timedelta(minutes=9),
    reference_fail_rate=0.1 + 0.2,
    runs_per_scenario=4,
    scenarios=(
        WatchedScenario(
            scenario_id="refund",
            graded=3,
            failed=1,
            could_not_run=1,
            drift_at=2,
            null_rate=0.028,
            path_graded=3,
            path_differing=2,
            path_drift_at=3,
            path_null_rate=1e-9,
        ),
        WatchedScenario(scenario_id="Ünal 👩‍👩‍👧", dead=DeadSensor(kind="no_longer_passes", detail="no date\nin it"), replay_path=False),
    ),
    not_watched=("𝔘",),
    replay_batch="b-7",
    live_batch="b-8",
    alert=OPEN_ALERT,
    cost=NightCost(wall_seconds=1 / 3, cpu_seconds=1e-9, requests=4, stored_bytes=3_000_000_000),
)
