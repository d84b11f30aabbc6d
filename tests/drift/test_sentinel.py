"""The sentinel's rule: which scenarios drifted on a night, how the night came out, and how often that happens while nothing changes."""

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.drift.sentinel import dead_scenario, night_reading, watched_scenario
from evalplatform.runs.night import DeadSensor, WatchedScenario
from evalplatform.runs.records import Run
from evalplatform.stats.exact_rate import exact_rate_interval
from tests.support.recorded_batches import recorded

CASES = Path(__file__).parents[1] / "cases" / "gates.json"
SENTINEL_CASES = [case for case in json.loads(CASES.read_text())["cases"] if case["kind"] == "sentinel_k"]
SOAK = os.environ.get("EVALPLATFORM_SOAK") == "1"
NIGHTS = 1_000
TENTH = Fraction(1, 10)


def live(letters: str, paths: Sequence[tuple[str, ...]] | None = None) -> tuple[Run, ...]:
    """The runs of one scenario by the letters of their outcomes; `paths` replaces their tool paths."""
    runs = recorded({"refund": letters}).runs
    return runs if paths is None else tuple(run.with_changes(tools=path) for run, path in zip(runs, paths, strict=True))


def baseline(*tools: str) -> Run:
    return recorded({"refund": "P"}, leg="replay").runs[0].with_changes(tools=tools or ("lookup",))


def watched(letters: str, **facts: object) -> WatchedScenario:
    return watched_scenario("refund", live(letters), **{"baseline": None, "tolerance": "exact", "fail_rate": TENTH, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize("case", SENTINEL_CASES, ids=lambda case: case["id"])
def test_a_scenario_drifts_from_the_number_of_failures_of_the_worked_cases(case: dict[str, dict[str, object]]) -> None:
    runs, k = int(str(case["input"]["n"])), int(str(case["expect"]["k"]))
    rate = Fraction(str(case["input"]["fail_rate"]))
    at_k = watched("F" * k + "P" * (runs - k), fail_rate=rate)
    assert (at_k.drift_at, at_k.verdict_drifted) == (k, True)
    assert at_k.null_rate == pytest.approx(float(str(case["expect"]["chance"])), abs=5e-5)
    assert not watched("F" * (k - 1) + "P" * (runs - k + 1), fail_rate=rate).verdict_drifted


def test_agent_errors_and_budget_stops_are_failures_and_what_could_not_run_is_left_out_and_counted() -> None:
    found = watched("ABHUP")
    assert (found.graded, found.failed, found.could_not_run, found.ungraded) == (3, 2, 1, 1)
    assert found.drift_at == 2
    assert found.drifted


def test_a_scenario_without_a_graded_live_run_drifts_and_never_reads_as_quiet() -> None:
    for letters in ("", "HHH", "UU", "HU"):
        found = watched(letters)
        assert (found.graded, found.verdict_drifted, found.drifted) == (0, True, True), letters
        assert night_reading([found]).state == "checked_flagged"


def test_one_live_run_drifts_by_its_only_failure_and_by_its_only_other_path() -> None:
    assert watched("F").drifted
    assert not watched("P").drifted
    other = watched_scenario("refund", live("P", [("guess",)]), baseline=baseline(), tolerance="exact", fail_rate=TENTH)
    assert (other.verdict_drifted, other.path_drifted, other.drifted) == (False, True, True)


def test_paths_drift_by_the_same_rule_over_the_graded_runs_that_have_one() -> None:
    paths = [("guess",), ("guess",), ("lookup",), ("lookup",)]
    two_of_four = watched_scenario("refund", live("PPPP", paths), baseline=baseline(), tolerance="exact", fail_rate=TENTH)
    assert (two_of_four.path_differing, two_of_four.path_drift_at, two_of_four.path_drifted) == (2, 3, False)
    three = watched_scenario("refund", live("PPPP", [("guess",), *paths[:3]]), baseline=baseline(), tolerance="exact", fail_rate=TENTH)
    assert three.path_drifted
    assert not three.verdict_drifted


def test_a_reorder_within_the_scenarios_tolerance_is_no_drift() -> None:
    paths = [("b", "a")] * 4
    facts = {"baseline": baseline("a", "b"), "fail_rate": TENTH}
    assert watched_scenario("refund", live("PPPP", paths), tolerance="exact", **facts).path_drifted  # type: ignore[arg-type]
    assert not watched_scenario("refund", live("PPPP", paths), tolerance="any_order", **facts).path_drifted  # type: ignore[arg-type]
    repeated = live("PPPP", [("b", "a", "a")] * 4)
    assert watched_scenario("refund", repeated, tolerance="any_order", **facts).path_drifted  # type: ignore[arg-type]
    assert not watched_scenario("refund", repeated, tolerance="tool_set", **facts).path_drifted  # type: ignore[arg-type]


def test_without_a_recording_the_path_is_not_watched_and_failures_are() -> None:
    found = watched("FFFF")
    assert (found.replay_path, found.path_drift_at, found.path_drifted, found.verdict_drifted) == (False, None, False, True)


def test_a_night_with_a_dead_sensor_is_never_clean_and_what_was_seen_to_drift_goes_before() -> None:
    dead = dead_scenario("refund", DeadSensor(kind="no_longer_passes", detail="1 of 2 checks failed"))
    assert night_reading([dead]) == ("check_failed", "dead_sensor")
    assert night_reading([dead, watched("PPPP")]) == ("check_failed", "dead_sensor")
    assert night_reading([dead, watched("FFFF")]) == ("checked_flagged", None)
    assert night_reading([watched("PPPP")]) == ("checked_clean", None)
    with pytest.raises(ValueError, match="no scenario"):
        night_reading([])


@given(st.text(alphabet="PFABHU", max_size=12), st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.5]), st.randoms())
def test_the_order_of_the_runs_changes_nothing_and_another_failure_never_ends_a_drift(letters: str, rate: float, random: Random) -> None:
    found = watched(letters, fail_rate=rate)
    shuffled = list(letters)
    random.shuffle(shuffled)
    assert watched("".join(shuffled), fail_rate=rate) == found
    if "P" in letters and found.drifted:
        assert watched(letters.replace("P", "F", 1), fail_rate=rate).drifted


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 5, 10])
def test_a_thousand_quiet_nights_at_the_reference_rate_are_flagged_as_often_as_is_promised(runs: int) -> None:
    random = Random(20_261_201 + runs)
    nights = 20 * NIGHTS if SOAK else NIGHTS
    by_failures = ["F" * failed + "P" * (runs - failed) for failed in range(runs + 1)]
    flagged_from = [night_reading([watched(letters)]).state == "checked_flagged" for letters in by_failures]
    flagged = sum(flagged_from[sum(random.random() < 0.1 for _ in range(runs))] for _ in range(nights))
    interval, promised = exact_rate_interval(flagged, nights), watched("P" * runs).null_rate
    assert interval is not None
    assert interval.ci_lo <= promised <= interval.ci_hi, (interval, promised)
