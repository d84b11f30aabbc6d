"""`evalplatform batches retain`: what it says goes and stays, and what is said of old batches wherever they are read afterwards."""

import json
from pathlib import Path

import pytest

from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import GateReport
from evalplatform.stages.remember_gate import remember_gate
from tests.cli.conftest import Command, Ran
from tests.support.recorded_batches import NOW, recorded
from tests.support.runs_project import RunsProject

KEPT_SENTENCE = "compacted: one run of each scenario is kept"


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    made = RunsProject.written_to(tmp_path / "project")
    made.file.write_text("version: 1\nproject: probe\nretention:\n  compact_after_days: 30\n  expire_after_days: 90\n")
    return made


def pushed(runs: RunsProject, *ages_days: float, letters: str = "PFP") -> list[Batch]:
    with runs.opened() as opened:
        behind_days = (NOW - opened.clock.now()).total_seconds() / 86_400
    return runs.push(*(recorded({"refund": letters}, days_ago=behind_days + age, commit=f"c{age}") for age in ages_days))


def table(ran: Ran) -> dict[str, list[str]]:
    """The rows of a printed table by their first column."""
    lines = [line.split("  ") for line in ran.out.splitlines() if line.startswith("b-")]
    return {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in lines}


def test_it_says_what_goes_what_stays_and_why_and_a_dry_run_says_it_beforehand(runs: RunsProject, command: Command) -> None:
    young, old, gated, oldest = pushed(runs, 1, 31, 45, 91)
    with runs.opened() as opened:
        remember_gate(opened.runs_context(), GateReport(key="ci-7", baseline=gated.id, candidate=gated.id), actor="ci")
    dry = command("batches", "retain", "--dry-run", "--project", runs.folder)
    assert (dry.code, table(dry)[old.id][1:]) == (0, ["whole", "compacted", "1", "2", "30 days old or older"])
    assert dry.out.splitlines()[0] == "Batches are compacted 30 days after they were recorded and expire 90 days after they were recorded."
    assert dry.out.splitlines()[-1] == (
        "2 batches would lose 5 runs; 1 stays as it is, being needed. "
        "Then there would be 2 whole, 1 compacted, 1 expired. Nothing was changed: a dry run."
    )
    done = command("batches", "retain", "--project", runs.folder)
    assert done.code == 0
    assert table(done) == table(dry)
    assert table(done)[gated.id][1:] == ["whole", "stays whole", "—", "—", "30 days old or older, but the remembered gate ci-7 names it"]
    assert table(done)[oldest.id][1:] == ["whole", "expired", "0", "3", "90 days old or older"]
    assert young.id not in done.out
    assert "2 batches lost 5 runs; 1 stays as it is, being needed; 0 trajectories went that no run names any more." in done.out
    again = command("batches", "retain", "--project", runs.folder)
    assert again.out.splitlines()[-1].startswith("No batch lost a run; 1 stays as it is, being needed;")


def test_as_json_each_batch_has_its_reason(runs: RunsProject, command: Command) -> None:
    (old,) = pushed(runs, 31)
    result = json.loads(command("batches", "retain", "--json", "--project", runs.folder).out)
    (one,) = result["batches"]
    assert {name: one[name] for name in ("batch_id", "before", "due", "after", "holder", "kept_runs", "removed_runs", "why")} == {
        "batch_id": old.id,
        "before": "whole",
        "due": "compacted",
        "after": "compacted",
        "holder": None,
        "kept_runs": 1,
        "removed_runs": 2,
        "why": "30 days old or older",
    }
    assert (result["states"], result["dry_run"]) == ({"whole": 0, "compacted": 1, "expired": 0}, False)


def test_without_a_retention_block_it_says_that_every_run_is_kept(runs: RunsProject, command: Command) -> None:
    runs.file.write_text("version: 1\nproject: probe\n")
    pushed(runs, 900)
    ran = command("batches", "retain", "--project", runs.folder)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Every run is kept: the project file has no `retention:` block, or an empty one.")
    assert "1 whole, 0 compacted, 0 expired" in ran.out


def test_what_became_of_a_batch_is_said_wherever_it_is_read(runs: RunsProject, command: Command, tmp_path: Path) -> None:
    young, old, oldest = pushed(runs, 1, 31, 91)
    bundle = runs.folder / "bundles" / f"{old.id}.jsonl"
    command("batches", "retain", "--project", runs.folder)
    listed = table(command("batches", "list", "--project", runs.folder))
    assert [listed[batch.id][-1] for batch in (young, old, oldest)] == ["complete", "compacted", "expired"]
    shown = command("batches", "show", old.id, "--project", runs.folder).out
    assert KEPT_SENTENCE in shown
    assert "3: 2 passed of 3 graded, as it was recorded" in shown
    diff = command("diff", old.id, young.id, "--project", runs.folder)
    assert f"caution: The baseline is {KEPT_SENTENCE}." in diff.out
    assert "1 vs 3 runs per scenario" in diff.out
    gate = command("gate", "--baseline", old.id, "--candidate", young.id, "--project", runs.folder)
    assert KEPT_SENTENCE in gate.out
    for ask in (("diff", oldest.id, young.id), ("gate", "--baseline", oldest.id, "--candidate", young.id)):
        refused = command(*ask, "--project", runs.folder)
        assert refused.code == 2
        assert f"the baseline {oldest.id} has expired, and its runs are no longer kept" in refused.out
    assert KEPT_SENTENCE in command("push", bundle, "--project", runs.folder).out
    recording = ("--out", tmp_path / "r.json", "--project", runs.folder)
    expired = command("batches", "recording", "refund", "--batch", oldest.id, *recording)
    assert f"{oldest.id} has expired: its runs are no longer kept" in expired.err
    assert command("batches", "recording", "refund", "--batch", old.id, *recording).code == 0


def test_a_scenario_of_which_no_passing_run_is_kept_is_said_to_be_so(runs: RunsProject, command: Command, tmp_path: Path) -> None:
    (old,) = pushed(runs, 31, letters="PF")
    command("batches", "retain", "--project", runs.folder)
    ran = command("batches", "recording", "refund", "--batch", old.id, "--out", tmp_path / "r.json", "--project", runs.folder)
    assert ran.code == 2
    assert f"{old.id} has no run of refund that passed among those that are kept of it, being compacted" in ran.err


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("compact_after_days: 90\n  expire_after_days: 90", "expire_after_days must be more than compact_after_days"),
        ("compact_after_days: 0", "compact_after_days"),
        ("compact_after_day: 30", "compact_after_days"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_by_its_field(runs: RunsProject, command: Command, block: str, said: str) -> None:
    runs.file.write_text(f"version: 1\nproject: probe\nretention:\n  {block}\n")
    ran = command("batches", "retain", "--project", runs.folder)
    assert ran.code == 2
    assert "retention" in ran.err
    assert said in ran.err
