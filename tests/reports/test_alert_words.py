"""What a mail says of a change of standing."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.reports.alert_words import MAX_SHOWN_SCENARIOS, alert_subject, alert_text
from evalplatform.runs.night import NIGHT_REASONS, Alert, AlertKind, DeadSensor, Night, NightReason, Slot, WatchedScenario

SLOT = Slot(at=datetime(2026, 3, 28, 23, 30, tzinfo=UTC), local_date=date(2026, 3, 29))
DRIFTED = WatchedScenario(scenario_id="refund", graded=4, failed=3, drift_at=3, path_graded=4, path_differing=4, path_drift_at=3)


def night(
    kind: AlertKind = "drift_detected", *scenarios: WatchedScenario, reason: NightReason | None = None, stream: str = "nightly"
) -> Night:
    state = {"drift_detected": "checked_flagged", "recovered": "checked_clean", "monitor_failed": "check_failed"}[kind]
    source = "sentinel" if stream == "sentinel" else "monitor"
    return Night(source=source, stream=stream, slot=SLOT, state=state, reason=reason, scenarios=scenarios, alert=Alert(kind=kind))


def text(told: Night, *affected: WatchedScenario, link: str | None = None) -> str:
    return alert_text(told, affected, project="shop", link=link)


def test_the_day_is_the_one_where_the_schedules_clock_hangs():
    assert "Due:      2026-03-28 23:30 UTC (2026-03-29 on its own clock)" in text(night())


def test_a_night_of_the_sentinel_is_named_so():
    told = night(stream="sentinel")
    assert "Check:    the sentinel" in text(told)
    assert alert_subject(told, project="shop") == "[evalplatform] shop: drift detected (sentinel)"


@pytest.mark.parametrize("reason", NIGHT_REASONS)
def test_every_reason_is_said_in_words_and_never_reads_as_clean_or_as_drift(reason: NightReason):
    said = text(night("monitor_failed", reason=reason), WatchedScenario(scenario_id="refund", could_not_run=2))
    assert said.startswith("The check failed: ")
    assert f"Standing: check failed ({reason})" in said
    assert "\n- refund: no live run of it could be graded\n" in said
    assert "clean" not in said.lower()
    assert "drift" not in said.lower()


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (DRIFTED, "3 of 4 graded live runs failed; 4 of 4 live runs took another tool path"),
        (DRIFTED.with_changes(failed=0), "4 of 4 live runs took another tool path"),
        (WatchedScenario(scenario_id="refund", graded=1, failed=1, drift_at=1), "1 of 1 graded live run failed"),
        (WatchedScenario(scenario_id="refund", could_not_run=2), "no live run of it could be graded, which counts as drift"),
        (WatchedScenario(scenario_id="refund", dead=DeadSensor(kind="pin_gone", detail="x")), "not watched, its pinned run is gone"),
        (WatchedScenario(scenario_id="refund", graded=4, drift_at=3), "no drift any more"),
    ],
)
def test_a_scenario_is_named_with_how_it_came_out(scenario: WatchedScenario, words: str):
    assert f"\n- refund: {words}\n" in text(night(), scenario)


def test_a_long_list_is_cut_and_says_how_many_more_there_are():
    many = [DRIFTED.with_changes(scenario_id=f"s{number}") for number in range(MAX_SHOWN_SCENARIOS + 3)]
    said = text(night(), *many)
    assert f"- s{MAX_SHOWN_SCENARIOS - 1}:" in said
    assert f"- s{MAX_SHOWN_SCENARIOS}:" not in said
    assert "\n- and 3 more\n" in said


@given(name=st.text(min_size=1).filter(lambda name: all(letter >= " " for letter in name)))
def test_no_name_of_a_scenario_adds_a_line_or_hides_one(name: str):
    said = text(night(), DRIFTED.with_changes(scenario_id=name))
    assert len(said.splitlines()) == len(text(night(), DRIFTED).splitlines())
    assert "\u202e" not in said
