"""`evalplatform monitor nights` and `monitor trend`, and the drift history that is made of the same nights."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from evalplatform.artifacts.catalog import file_key
from evalplatform.kernel.errors import EntitlementError, InputError
from evalplatform.project.load import load_project
from evalplatform.runs.night import Night
from evalplatform.stages.drift_history import (
    MARKS_FILE,
    materialize_drift_history,
    materialize_standings,
    read_drift_history,
    read_standings,
)
from evalplatform.stages.mark_table import MARKS
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_reports import COMPARISON_FILE, HTML_FILE, JSON_FILE, materialize_night
from evalplatform.stages.recomputed_night import recomputed_night
from evalplatform.wiring import OpenedProject
from tests.cli.conftest import Command
from tests.cli.test_sentinel import Watched
from tests.cli.test_sentinel import watched as watched  # the fixture
from tests.support.monitoring_values import ENTRY, night


def opened(watched: Watched) -> OpenedProject:
    return OpenedProject(load_project(watched.folder / "evalplatform.yaml"))


def missed(context: MonitoringContext, *, hours_ago: float, stream: str = "nightly") -> Night:
    """Record a night that never began."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hours_ago)
    slot = {"at": at, "local_date": at.date()}
    return context.store.record(night(stream, slot=slot, began_at=None, state="check_failed", reason="missed_slot", detail="downtime"))


def test_nights_are_listed_newest_first_and_the_list_says_when_there_is_none(watched: Watched, command: Command) -> None:
    none = command("monitor", "nights")
    assert (none.code, none.out) == (1, "")
    assert "no night is recorded" in none.err
    watched.agent.behave(lookup="F")
    assert command("sentinel").code == 1
    with opened(watched) as project:
        missed(project.monitoring_context(), hours_ago=5)
    listed = command("monitor", "nights")
    assert listed.code == 0
    title, newest, oldest = listed.out.splitlines()
    assert title.split()[:3] == ["Slot", "(UTC)", "Stream"]
    assert newest.split()[2:4] == ["sentinel", "flagged"]
    assert "check failed (missed_slot)" in oldest
    assert "none: it never began" in oldest
    (only,) = command("monitor", "nights", "nightly").out.splitlines()[1:]
    assert only.split() == oldest.split()
    assert command("monitor", "nights", "--limit", 1).err.strip() == "there are older ones: --limit shows more than 1."
    (first, second) = json.loads(command("monitor", "nights", "--json").out)
    assert (first["source"], first["sentence"]) == ("sentinel", "Drift: 1 of 3 scenarios drifted.")
    assert (second["reason"], second["cost"]) == ("missed_slot", None)


def test_the_trend_shows_each_scenario_night_by_night_and_the_alarms_beside_the_promise(watched: Watched, command: Command) -> None:
    assert command("monitor", "trend").code == 1
    for plan in ({}, {"cancel": "FFFF"}, {"cancel": "XXXX"}):
        watched.agent.behave(**plan)
        command("sentinel", "--runs", 4)
    shown = command("monitor", "trend")
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0] == "1 of 3 scenarios drifted at least once over 3 nights."
    assert "cancel (sentinel) ·VP 2/3 drifted" in lines
    assert "lookup (sentinel) ··· 0/3 drifted" in lines
    assert "(· quiet, V drift by verdict, P drift by tool path)" in lines
    assert any(line.startswith("alarms by failures: 1 of 9 checks, 11.11% [0.28%, 48.25%]; promised 0.37%") for line in lines)
    found = json.loads(command("monitor", "trend", "--json").out)
    assert found["verdict_rate"]["reading"] == "as_promised"
    assert [(trend["drifted"], trend["marks"]) for trend in found["trends"]] == [(2, "·VP"), (0, "···"), (0, "···")]
    assert found["mark_words"]["V"] == "drift by verdict"


def test_a_night_is_computed_again_from_its_two_stored_batches_and_a_compacted_leg_is_refused(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="FFXH", lookup="P")
    command("sentinel", "--runs", 4)
    with opened(watched) as project:
        context = project.monitoring_context()
        (stored,) = context.store.nights()
        assert recomputed_night(context, stored.key).scenarios == stored.scenarios
        blank = missed(context, hours_ago=5).key
    again = command("monitor", "recompute", stored.key)
    assert (again.code, again.out) == (0, f"3 scenarios of {stored.key} computed again from its batches: as stored.\n")
    assert "saw no scenario" in refused(command, blank)
    assert "unknown night" in refused(command, "sentinel.never")
    assert stored.live_batch is not None
    with opened(watched) as project:
        batches = project.runs_context().batches
        kept = [run.id for run in batches.runs(stored.live_batch) if run.order == 0]
        batches.compact(stored.live_batch, keep=kept, entry=ENTRY)
    assert f"the batch {stored.live_batch} is compacted" in refused(command, stored.key)


def test_a_night_whose_batches_say_something_else_is_told_with_both_readings(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="FFFF")
    command("sentinel", "--runs", 4)
    with opened(watched) as project:
        store = project.monitoring_store
        (stored,) = store.nights()
        calm = stored.scenarios[0].with_changes(failed=0)
        slot = stored.slot.with_changes(at=stored.slot.at - timedelta(hours=1))
        tampered = store.record(stored.with_changes(slot=slot, scenarios=(calm, *stored.scenarios[1:]), alert=None))
    told = command("monitor", "recompute", tampered.key)
    assert told.code == 1
    stored_words, found_words = "quiet (0 of 4 failed, 0 of 4 paths differ)", "drift by verdict (4 of 4 failed, 0 of 4 paths differ)"
    assert told.out.splitlines() == [
        f"3 scenarios of {tampered.key} computed again from its batches: 1 not as stored.",
        f"  - cancel: stored {stored_words}; its batches say {found_words}",
    ]
    shown = json.loads(command("monitor", "recompute", tampered.key, "--json").out)
    assert (shown["agrees"], shown["differing"]) == (False, ["cancel"])


def test_a_sensor_that_was_dead_in_the_replay_is_found_dead_again(watched: Watched, command: Command) -> None:
    recording = watched.folder / "rec" / "cancel.json"
    recording.write_text(recording.read_text().replace("May", "June"))
    command("sentinel")
    (stored,) = watched.nights
    assert [one.scenario_id for one in stored.dead_sensors] == ["cancel"]
    assert command("monitor", "recompute", stored.key).code == 0


def refused(command: Command, night_key: str) -> str:
    found = command("monitor", "recompute", night_key)
    assert (found.code, found.out) == (2, "")
    return found.err


def test_a_misspelt_stream_is_answered_with_the_nearest_one(watched: Watched, command: Command) -> None:
    found = command("monitor", "nights", "sentinal")
    assert found.code == 2
    assert "sentinel" in found.err
    assert command("monitor", "nights", "sentinel").code == 1, "a stream that has no night yet"


def test_what_was_last_checked_is_said_however_long_its_failed_checks_go_on(watched: Watched) -> None:
    with opened(watched) as project:
        context = project.monitoring_context()
        for days in (1, 2, 95):
            missed(context, hours_ago=24 * days, stream="sentinel")
        at = datetime.now(UTC).replace(microsecond=0) - timedelta(days=100)
        for hours in (0, 1):
            slot = {"at": at + timedelta(hours=hours), "local_date": at.date()}
            context.store.record(night("sentinel", slot=slot, began_at=at, state="checked_clean"))
        (found,) = read_standings(context)
        assert (found.standing.now, found.standing.last_checked) == ("check_failed", "checked_clean")
        assert found.since is not None
        assert found.since.at < at + timedelta(days=6)
        assert not found.held_before, "the check before it was another one"


def test_a_standing_that_is_older_than_what_is_read_says_that_it_may_have_held_before(watched: Watched, command: Command) -> None:
    with opened(watched) as project:
        context = project.monitoring_context()
        for days in (1, 95):
            at = datetime.now(UTC).replace(microsecond=0) - timedelta(days=days)
            slot = {"at": at, "local_date": at.date()}
            context.store.record(night("sentinel", slot=slot, began_at=at, state="checked_clean"))
    assert "UTC or before." in command("monitor", "trend").out


def test_a_nights_report_holds_the_comparison_of_its_legs_and_no_address(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="XX")
    command("sentinel", "--runs", 2)
    with opened(watched) as project:
        context = project.monitoring_context()
        (stored,) = context.store.nights()
        made = materialize_night(context, stored)
        assert materialize_night(context, stored).unchanged
        files = {name: project.store.get(file_key(made.manifest, name)).decode() for name in made.manifest.files}
        assert made.manifest.artifact.path == f"monitoring/sentinel_nights/{stored.slot.local_date}"
        assert "drift: tool path" in files[HTML_FILE]
        assert 'href="diff.cancel.html"' in files[HTML_FILE]
        assert {COMPARISON_FILE, "diff.cancel.html"} <= set(files)
        assert json.loads(files[JSON_FILE])["alert"] == "drift_detected"
        with pytest.raises(InputError, match="under way"):
            materialize_night(context, night())


def test_drift_history_and_standings_are_artifacts_that_the_same_nights_do_not_change(watched: Watched, command: Command) -> None:
    command("sentinel", "--runs", 2)
    with opened(watched) as project:
        context = project.monitoring_context()
        missed(context, hours_ago=24 * 100, stream="old")
        first, standings = materialize_drift_history(context), materialize_standings(context)
        assert (materialize_drift_history(context).unchanged, materialize_standings(context).unchanged) == (True, True)
        assert first.manifest.facts["scenarios"] == 3
        assert standings.manifest.facts["streams"] == 1, "a stream without a schedule, whose nights are older than the window, is past"
        assert [one.stream for one in read_standings(context)] == ["sentinel"]
        page = project.store.get(file_key(first.manifest, "drift-history.html")).decode()
        assert "<svg" in page
        assert "Alarms, measured and promised" in page
        marks = list(MARKS.read(project.store.get(file_key(first.manifest, MARKS_FILE))))
        told = read_drift_history(context)[0]
        assert [(row.scenario_id, row.at_night) for row in marks] == [(one.scenario_id, mark) for one in told.trends for mark in one.marks]
        missed(context, hours_ago=1)
        assert not materialize_drift_history(context).unchanged


def test_where_the_drift_history_is_not_granted_it_is_refused_by_name(
    watched: Watched, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (watched.folder / "granted.yaml").write_text("default: {withheld: [drift.history]}\n")
    monkeypatch.setenv("EVALPLATFORM_ENTITLEMENTS", str(watched.folder / "granted.yaml"))
    assert command("sentinel").code == 0, "the sentinel still runs, and both batches are stored"
    refused = command("monitor", "trend")
    assert refused.code == 2
    assert "drift.history is not granted" in refused.err
    with opened(watched) as project, pytest.raises(EntitlementError) as error:
        materialize_drift_history(project.monitoring_context())
    assert error.value.entitlement == "drift.history"
