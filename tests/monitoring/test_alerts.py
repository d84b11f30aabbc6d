"""When a delivery is tried, as a rule alone: whatever comes of the attempts, and whoever dies in between."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.monitoring.alerts import (
    INTERRUPTED,
    MOST_ATTEMPTS,
    RETRY_AFTER,
    affected_scenarios,
    alert_document,
    claimed,
    delivered,
    due_deliveries,
    not_delivered,
    with_delivery,
)
from evalplatform.runs.night import Alert, AlertKind, DeadSensor, Delivery, Night, Slot, WatchedScenario

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OUTCOMES = st.lists(st.sampled_from(["taken", "refused", "died"]), min_size=MOST_ATTEMPTS + 1, max_size=MOST_ATTEMPTS + 1)
SPOKEN = "what an agent said"


def one_delivery(outcomes: list[str]) -> tuple[Delivery, list[timedelta]]:
    """A delivery after a day of looking every ten seconds, and when its attempts began."""
    alert = Alert(kind="recovered", deliveries=(Delivery(channel="email", address="a@example.com", next_attempt_at=NOW),))
    began: list[timedelta] = []
    now = NOW
    for _ in range(3_600 // 10):
        if due_deliveries(alert, now=now):
            ours = claimed(alert.deliveries[0], now=now)
            if ours.state == "pending":
                outcome = outcomes[len(began)]
                began.append(now - NOW)
                ended = {"taken": delivered, "refused": not_delivered}.get(outcome)
                ours = ours if ended is None else ended(ours, outcome)
            alert = with_delivery(alert, 0, ours)
        now += timedelta(seconds=10)
    return alert.deliveries[0], began


@given(outcomes=OUTCOMES)
def test_a_delivery_ends_after_four_attempts_at_most_and_tells_what_came_of_the_last(outcomes: list[str]):
    delivery, began = one_delivery(outcomes)
    tried = outcomes[: len(began)]
    assert delivery.attempts == len(began) <= MOST_ATTEMPTS
    if "taken" in outcomes[:MOST_ATTEMPTS]:
        assert (delivery.state, delivery.outcome) == ("sent", "taken")
        assert tried.index("taken") == len(tried) - 1
    else:
        last = "refused" if tried[-1] == "refused" else INTERRUPTED
        assert (delivery.state, delivery.outcome, len(tried)) == ("failed", last, MOST_ATTEMPTS)
    assert delivery.next_attempt_at is None
    waits = [later - earlier for earlier, later in pairwise(began)]
    assert waits == list(RETRY_AFTER[: len(waits)])


def test_a_delivery_that_has_ended_is_never_due():
    ended = [Delivery(channel="email", address="a@example.com", state=state, next_attempt_at=NOW) for state in ("sent", "failed")]
    assert due_deliveries(Alert(kind="recovered", deliveries=tuple(ended)), now=NOW) == ()


def night(kind: AlertKind, *scenarios: WatchedScenario) -> Night:
    slot = Slot(at=NOW, local_date=NOW.date())
    state = {"drift_detected": "checked_flagged", "recovered": "checked_clean", "monitor_failed": "check_failed"}[kind]
    return Night(source="monitor", stream="nightly", slot=slot, state=state, detail=SPOKEN, scenarios=scenarios, alert=Alert(kind=kind))


QUIET = WatchedScenario(scenario_id="quiet", graded=4, drift_at=3)
DRIFTED = WatchedScenario(scenario_id="drifted", graded=4, failed=3, drift_at=3)
OTHER_PATH = WatchedScenario(scenario_id="path", graded=4, drift_at=3, path_graded=4, path_differing=3, path_drift_at=3)
UNGRADED = WatchedScenario(scenario_id="ungraded", could_not_run=4)
DEAD = WatchedScenario(scenario_id="dead", dead=DeadSensor(kind="pin_gone", detail=SPOKEN))


def test_an_alert_is_about_what_drifted_and_what_could_not_be_watched():
    told = night("drift_detected", QUIET, DRIFTED, OTHER_PATH, UNGRADED, DEAD)
    affected = affected_scenarios(told, drifted_before=["quiet"])
    assert [one.scenario_id for one in affected] == ["drifted", "path", "ungraded", "dead"]
    assert alert_document(told, affected, project="p", tenant="t", link=None)["scenarios"] == [
        {"id": "drifted", "verdict_drifted": True, "path_drifted": False, "dead_sensor": None},
        {"id": "path", "verdict_drifted": False, "path_drifted": True, "dead_sensor": None},
        {"id": "ungraded", "verdict_drifted": True, "path_drifted": False, "dead_sensor": None},
        {"id": "dead", "verdict_drifted": False, "path_drifted": False, "dead_sensor": "pin_gone"},
    ]


def test_a_failed_check_says_of_no_scenario_that_it_drifted():
    told = night("monitor_failed", QUIET, UNGRADED, DEAD)
    assert told.drifted == ()
    assert alert_document(told, affected_scenarios(told), project="p", tenant="t", link=None)["scenarios"] == [
        {"id": "ungraded", "verdict_drifted": False, "path_drifted": False, "dead_sensor": None},
        {"id": "dead", "verdict_drifted": False, "path_drifted": False, "dead_sensor": "pin_gone"},
    ]


def test_a_recovery_is_about_what_had_drifted_and_is_still_watched():
    told = night("recovered", QUIET, QUIET.with_changes(scenario_id="another"))
    assert [one.scenario_id for one in affected_scenarios(told, drifted_before=["quiet", "gone"])] == ["quiet"]


@given(words=st.text(min_size=1), kind=st.sampled_from(["drift_detected", "recovered", "monitor_failed"]))
def test_what_was_said_in_a_night_changes_no_alert(words: str, kind: AlertKind):
    dead = DEAD.with_changes(dead=DeadSensor(kind="pin_gone", detail=words))
    told = [night(kind, DRIFTED, dead).with_changes(detail=words), night(kind, DRIFTED, DEAD)]
    documents = [alert_document(one, affected_scenarios(one), project="p", tenant="t", link=None) for one in told]
    assert documents[0] == documents[1]
