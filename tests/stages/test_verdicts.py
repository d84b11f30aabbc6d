"""Verdicts from stored scores: other thresholds are other readings of the same points, kept side by side, and ask nobody."""

import json
from pathlib import Path

import pytest

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.kernel.errors import InputError
from evalplatform.project.load import load_project
from evalplatform.stages import arms_report, judged_scores, verdicts
from evalplatform.stages.facts import verdict_facts
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter
from tests.support.stub_project import write_stub_project

WORDS = ("alder", "birch", "cedar", "dogwood", "elder")


def ran(file: Path) -> tuple[CellRun, list[ArtifactManifest]]:
    """Run the suite's one cell under its one judge, and return the run with every verdict set that is stored by now, by partition."""
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (cell,), (judge,) = context.project.cells_of("kettle"), context.project.judges_of("kettle")
        run = run_cell(context, cell, judge)
        stored = [opened.catalog.current(artifact) for artifact in opened.catalog.list(asset=verdicts.ASSET, suite="kettle")]
        return run, [manifest for manifest in stored if manifest is not None]


def outcomes(file: Path, manifest: ArtifactManifest, arm: str = "baseline") -> list[tuple[float | None, str]]:
    with OpenedProject(load_project(file, environ={})) as opened:
        rows = verdicts.stored_verdicts(opened.suite_context("kettle"), manifest)
    return [(row.points, row.verdict) for row in rows if row.arm == arm]


def with_points_of_40_60_80(folder: Path) -> Path:
    """The starter with three questions. Without context its reader restates the question, and one that names two of five facts has 40."""
    file = starter(folder, ("    judges: [facts]\n", "    judges: [facts]\n    pass_points: 70\n"))
    questions = [
        {"id": f"q{named}", "question": f"Which trees are {', '.join(WORDS[:named])}?", "expected_facts": list(WORDS)}
        for named in (2, 3, 4)
    ]
    (file.parent / "questions.json").write_text(json.dumps({"questions": questions}))
    return file


def test_another_threshold_gives_verdicts_beside_the_first_by_pure_computation(tmp_path: Path) -> None:
    """R03: scores of 40, 60 and 80 points at thresholds of 70 and 50."""
    file = with_points_of_40_60_80(tmp_path)
    _, (at_70,) = ran(file)
    assert outcomes(file, at_70) == [(40.0, "failed"), (60.0, "failed"), (80.0, "passed")]
    edited(file, ("pass_points: 70", "pass_points: 50"))
    again, both = ran(file)
    (at_50,) = (manifest for manifest in both if manifest.artifact != at_70.artifact)
    assert outcomes(file, at_50) == [(40.0, "failed"), (60.0, "passed"), (80.0, "passed")]
    assert outcomes(file, at_70) == [(40.0, "failed"), (60.0, "failed"), (80.0, "passed")]
    assert len(both) == 2
    assert again.counts.paid + again.counts.replayed + again.counts.shared == 0
    digests = {verdict_facts(manifest).pass_points: verdict_facts(manifest).policy_digest for manifest in both}
    assert set(digests) == {70.0, 50.0}
    assert all(manifest.artifact.partition.endswith(f"/p-{digests[points][7:19]}") for points, manifest in ((70.0, at_70), (50.0, at_50)))


def test_a_threshold_is_moved_while_every_endpoint_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "a key")
    with running_stub() as stub:
        file = write_stub_project(tmp_path, stub.url, questions=7) / "evalplatform.yaml"
        edited(file, ("    draws: 1\n", "    draws: 1\n    pass_points: 10\n"))
        _, (first,) = ran(file)
    asked = stub.requests
    monkeypatch.delenv("STUB_KEY")
    edited(file, ("pass_points: 10", "pass_points: 90"))
    run, both = ran(file)
    assert len(both) == 2
    assert stub.requests == asked
    assert [stage.unchanged for stage in run.stages if stage.manifest.artifact.asset == judged_scores.ASSET] == [True]
    assert (verdict_facts(first).calls, verdict_facts(first).rows) == (CallCounts(), 14)


def test_a_suite_without_a_threshold_gets_no_verdicts_and_keeps_those_it_has(tmp_path: Path) -> None:
    file = with_points_of_40_60_80(tmp_path)
    ran(file)
    edited(file, ("    pass_points: 70\n", ""))
    run, stored = ran(file)
    assert verdicts.ASSET not in {stage.manifest.artifact.asset for stage in run.stages}
    assert len(stored) == 1
    with (
        OpenedProject(load_project(file, environ={})) as opened,
        pytest.raises(InputError, match=r"suites\.kettle\.pass_points: is not set"),
    ):
        context = opened.suite_context("kettle")
        verdicts.materialize_verdicts(context, context.project.cells_of("kettle")[0], context.project.judges_of("kettle")[0])


def test_going_back_to_a_threshold_finds_its_verdicts_again(tmp_path: Path) -> None:
    file = with_points_of_40_60_80(tmp_path)
    ran(file)
    edited(file, ("pass_points: 70", "pass_points: 50"))
    ran(file)
    edited(file, ("pass_points: 50", "pass_points: 70.0"))
    run, stored = ran(file)
    assert run.unchanged
    assert len(stored) == 2


def test_the_pages_say_pass_rates_with_their_policy(tmp_path: Path) -> None:
    file = with_points_of_40_60_80(tmp_path)
    run, (stored,) = ran(file)
    with OpenedProject(load_project(file, environ={})) as opened:
        page = opened.catalog.read(stored, verdicts.MARKDOWN_FILE).decode()
        report = opened.catalog.read(run.report, arms_report.MARKDOWN_FILE).decode()
    assert f"- **Policy**: {verdict_facts(stored).policy_key} ({verdict_facts(stored).policy_digest})" in page
    assert "- **Model calls**: 0" in page
    for text in (page, report):
        assert "## Verdicts at 70 points" in text
        assert "| baseline | 1 | 2 | 0 | 33.3% | [6.1%, 79.2%] |" in text
        assert "— (3 pairs, 6 needed)" in text
