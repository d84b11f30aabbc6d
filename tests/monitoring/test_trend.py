"""Nights read together: how each reads for a scenario, alarms beside what was promised, and what stands in a stream."""

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from random import Random

import pytest

from evalplatform.drift.sentinel import watched_scenario
from evalplatform.monitoring.trend import DriftHistory, drift_history, stream_standings
from evalplatform.runs.night import Alert, DeadSensor, Night, WatchedScenario
from tests.support.monitoring_values import FIRST, night
from tests.support.recorded_batches import recorded

DEAD = WatchedScenario(scenario_id="refund", dead=DeadSensor(kind="pin_gone", detail="gone"), replay_path=False)


def seen(letters: str, name: str = "refund", *, paths: int | None = None) -> WatchedScenario:
    """A scenario whose live runs ended so; `paths` of them took another path than its recording."""
    runs = recorded({name: letters}).runs
    baseline = None if paths is None else runs[0].with_changes(outcome="passed", tools=("lookup",))
    taken = [run.with_changes(tools=("guess",) if place < (paths or 0) else ("lookup",)) for place, run in enumerate(runs)]
    return watched_scenario(name, taken, baseline=baseline, tolerance="exact", fail_rate=Fraction(1, 10))


def checked(hours: float, *scenarios: WatchedScenario, stream: str = "nightly", **facts: object) -> Night:
    drifted = any(scenario.drifted for scenario in scenarios)
    return night(stream, hours=hours, state="checked_flagged" if drifted else "checked_clean", scenarios=scenarios, **facts)


def failed(hours: float, reason: str = "missed_slot", stream: str = "nightly", **facts: object) -> Night:
    return night(stream, hours=hours, state="check_failed", reason=reason, **facts)


def history(oldest_first: Sequence[Night]) -> DriftHistory:
    return drift_history(list(oldest_first)[::-1], since=FIRST, until=FIRST + timedelta(days=90))


def marks(found: DriftHistory, scenario: str = "refund") -> list[str]:
    (trend,) = [trend for trend in found.trends if trend.scenario_id == scenario]
    return [mark.mark for mark in trend.marks]


def test_each_night_reads_by_what_was_seen_and_what_was_not_is_never_quiet() -> None:
    nights = [
        checked(0, seen("PPPP", paths=0)),
        checked(24, seen("FFFP", paths=0)),
        checked(48, seen("PPPP", paths=4)),
        checked(72, seen("FFFF", paths=4)),
        checked(96, seen("HHH")),
        failed(120, "dead_sensor", scenarios=(DEAD,)),
        failed(144),
        night(hours=168),
    ]
    found = history(nights)
    assert marks(found) == ["quiet", "verdict", "path", "both", "unseen", "dead", "failed"]
    (trend,) = found.trends
    assert (trend.drifted, trend.checked) == (3, 4)
    assert found.nights == {"checked_clean": 1, "checked_flagged": 4, "check_failed": 2, "pending": 1}
    assert found.reasons == {"dead_sensor": 1, "missed_slot": 1}


def test_a_check_that_failed_as_a_whole_stands_in_every_scenario_of_its_stream_and_in_no_other() -> None:
    found = history([checked(0, seen("P"), seen("P", "cancel")), failed(24), checked(30, seen("P"), stream="hourly")])
    assert {(trend.stream, trend.scenario_id): [mark.mark for mark in trend.marks] for trend in found.trends} == {
        ("nightly", "cancel"): ["quiet", "failed"],
        ("nightly", "refund"): ["quiet", "failed"],
        ("hourly", "refund"): ["quiet"],
    }


def test_a_failed_check_was_to_watch_what_the_night_before_it_did() -> None:
    found = history([failed(-1), checked(0, seen("P", "gone")), failed(24), checked(48, seen("P", "new")), failed(72)])
    assert marks(found, "gone") == ["failed", "quiet", "failed"]
    assert marks(found, "new") == ["quiet", "failed"]


def test_scenarios_that_drifted_most_come_first() -> None:
    found = history([checked(24 * day, seen("PPPP"), seen("FFFF", "zebra"), seen("PPPP", "ant")) for day in range(3)])
    assert [trend.scenario_id for trend in found.trends] == ["zebra", "ant", "refund"]


def test_alarms_are_counted_beside_what_the_rule_promised_for_exactly_these_counts() -> None:
    found = history([checked(0, seen("FFFP", paths=0), seen("PPP", "cancel"), seen("HH", "unseen")), checked(24, DEAD, seen("P", "one"))])
    assert (found.verdict_rate.checks, found.verdict_rate.alarms) == (3, 1), "without a graded run another rule flags"
    assert found.verdict_rate.promised_rate == pytest.approx((0.0037 + 0.028 + 0.1) / 3)
    assert found.verdict_rate.chance_of_as_many == pytest.approx(1 - 0.9963 * 0.972 * 0.9)
    assert (found.path_rate.checks, found.path_rate.alarms) == (1, 0)
    assert found.path_rate.promised_rate == pytest.approx(0.0037)


def test_without_a_check_nothing_is_said_of_a_rate() -> None:
    found = history([failed(0), night(hours=24)])
    assert (found.verdict_rate.reading, found.verdict_rate.measured_rate, found.verdict_rate.promised_rate) == ("no_checks", None, None)
    assert history([]).night_count == 0


@pytest.mark.parametrize(("true_rate", "reading"), [(0.1, "as_promised"), (0.5, "more_than_promised"), (0.001, "fewer_than_promised")])
def test_a_measured_rate_reads_by_whether_its_exact_interval_holds_the_promised_one(true_rate: float, reading: str) -> None:
    random = Random(7)
    nights = [
        checked(24 * day, *(seen("".join("F" if random.random() < true_rate else "P" for _ in range(2)), f"s{n}") for n in range(8)))
        for day in range(150)
    ]
    assert history(nights).verdict_rate.reading == reading


def test_a_standing_says_since_when_and_what_was_last_checked_behind_a_failed_one() -> None:
    told = Alert(kind="drift_detected")
    nights = [checked(0, seen("P")), checked(24, seen("F"), alert=told), failed(48), failed(72), night(hours=96)]
    (found,) = stream_standings(nights[::-1])
    assert (found.standing.now, found.standing.last_checked) == ("check_failed", "checked_flagged")
    assert found.since == nights[2].slot
    assert (found.last, found.last_checked, found.pending) == (nights[3].key, nights[1].key, nights[4].key)
    assert (found.reason, found.alert) == ("missed_slot", told)


def test_a_stream_whose_only_night_is_under_way_stands_nowhere_yet() -> None:
    (found,) = stream_standings([night()])
    assert (found.standing.now, found.last, found.since, found.reason) == (None, None, None, None)
    assert found.pending == night().key
