"""A stored cell as comparisons see it: the same as its arms.v1 file, of the versions that belong together."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun
from evalplatform.comparisons.matrix_rollup import roll_up
from evalplatform.kernel.errors import InputError
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.load import load_project
from evalplatform.reports.compared_run_file import compared_run_of
from evalplatform.stages import arm_summary, arms_report
from evalplatform.stages.arm_answers import materialize_arm_answers
from evalplatform.stages.compared_runs import compared_run, current_versions, stored_run
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.pipeline import run_cell
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter
from tests.support.stub_project import write_stub_project


@contextmanager
def suite(file: Path) -> Iterator[tuple[SuiteContext, Cell, JudgeCell | None]]:
    """The suite `kettle` of a project with its first cell and judge."""
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        judges = context.project.judges_of("kettle")
        yield context, context.project.cells_of("kettle")[0], judges[0] if judges else None


def of_file(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> ComparedRun:
    """The run as its arms.v1 file has it."""
    report = context.upstream(arms_report.ASSET, arm_summary.partition(cell, judge))
    data = json.loads(context.catalog.read(report, "arms.json"))
    return compared_run_of(data, path=Path("arms.json"), name=cell.id)


def assert_equal_runs(stored: ComparedRun, filed: ComparedRun) -> None:
    assert stored.identity == filed.identity
    assert (stored.name, stored.difficulty, stored.has_judge_metrics) == (filed.name, filed.difficulty, filed.has_judge_metrics)
    assert stored.truncated_reason == filed.truncated_reason
    assert (stored.question_texts, stored.references, stored.clusters) == (filed.question_texts, filed.references, filed.clusters)
    assert list(stored.arms) == list(filed.arms)
    for arm, of_arm in filed.arms.items():
        own = stored.arms[arm]
        assert sum(own.unscored_reasons.values()) == sum(of_arm.unscored_reasons.values())
        assert _numbers(own) == _numbers(of_arm)
        assert own.cost.total_cost_usd == pytest.approx(of_arm.cost.total_cost_usd, abs=1e-6)
        assert own.cost.mean_latency_seconds == pytest.approx(of_arm.cost.mean_latency_seconds, abs=1e-4)


def _numbers(arm: ComparedArm) -> ComparedArm:
    """An arm but for what a file rounds, and for the words of what has no points, which a file says less exactly."""
    cost = replace(arm.cost, total_cost_usd=None, mean_latency_seconds=None, mean_time_to_first_token_seconds=None)
    return replace(arm, unscored_reasons={}, cost=cost)


OVERLAP = "facts: {kind: overlap, model: overlap, endpoint: here}"
STUBBED = """facts: {kind: rubric, model: "MODEL", endpoint: stub, grounded_from_topics: true, sampling: {temperature: 0.5}}"""


@pytest.mark.parametrize("judge_model", ["grader", "stub;do=garbled"])
def test_a_cell_that_a_model_judged_is_the_run_of_its_file(tmp_path: Path, judge_model: str) -> None:
    with running_stub() as stub:
        stubbed = f'  here: {{provider: offline}}\n  stub: {{provider: openai-compatible, base_url: "{stub.url}", retry: {{attempts: 1}}}}'
        file = starter(tmp_path, ("  here: {provider: offline}", stubbed), (OVERLAP, STUBBED.replace("MODEL", judge_model)))
        with suite(file) as (context, cell, judge):
            run_cell(context, cell, judge)
            assert_equal_runs(stored_run(context, cell, judge), of_file(context, cell, judge))


def test_an_offline_cell_is_the_run_of_its_file(tmp_path: Path) -> None:
    with suite(starter(tmp_path)) as (context, cell, judge):
        run_cell(context, cell, judge)
        run = stored_run(context, cell, judge)
        assert_equal_runs(run, of_file(context, cell, judge))
        assert run.identity.is_judged
        assert run.source.startswith("kettle/arm_summary/reader-")


def test_a_cell_that_nobody_judged_is_the_run_of_its_file(tmp_path: Path) -> None:
    with suite(starter(tmp_path)) as (context, cell, _):
        run_cell(context, cell, None)
        run = stored_run(context, cell, None)
        assert_equal_runs(run, of_file(context, cell, None))
        assert not run.identity.is_judged
        assert not any(arm.points for arm in run.arms.values())


def test_a_cell_whose_endpoint_is_down_is_the_run_of_its_file(tmp_path: Path) -> None:
    with running_stub() as stub:
        stub.fail_after = 5
        stubbed = f'  here: {{provider: offline}}\n  stub: {{provider: openai-compatible, base_url: "{stub.url}", retry: {{attempts: 1}}}}'
        file = starter(tmp_path, ("  here: {provider: offline}", stubbed), ("endpoint: here, sampling", "endpoint: stub, sampling"))
        with suite(file) as (context, cell, judge):
            run_cell(context, cell, judge)
            run = stored_run(context, cell, judge)
            assert_equal_runs(run, of_file(context, cell, judge))
            assert sum(arm.failed for arm in run.arms.values()) > 0


def test_a_clustered_cell_is_the_run_of_its_file_and_the_rollup_agrees_with_the_cells_own_report(tmp_path: Path) -> None:
    file = starter(tmp_path, ("    baseline_arm: baseline", "    cluster_field: page\n    baseline_arm: baseline"))
    questions = tmp_path / "questions.json"
    asked = json.loads(questions.read_text())
    for place, question in enumerate(asked["questions"]):
        question["page"] = f"page {place // 3}"
    questions.write_text(json.dumps(asked))
    with suite(file) as (context, cell, judge):
        run_cell(context, cell, judge)
        run, filed = stored_run(context, cell, judge), of_file(context, cell, judge)
        own = arm_summary.stored_summary(context, context.upstream(arm_summary.ASSET, arm_summary.partition(cell, judge)))
    assert_equal_runs(run, filed)
    assert (run.identity.cluster_field, set((run.clusters or {}).values())) == ("page", {"page 0", "page 1", "page 2"})
    for made_of in (run, filed):
        (rolled,) = roll_up([made_of]).cells
        for arm, delta in own.deltas.items():
            assert delta.effect is not None
            assert delta.effect.clusters == 3
            assert rolled.summary.deltas[arm].effect == delta.effect
            assert rolled.summary.scores[arm].ci_lo_points == own.scores[arm].ci_lo_points


def test_points_and_lengths_are_means_over_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "stub")
    with running_stub() as stub:
        file = write_stub_project(tmp_path, stub.url, questions=3, draws=2) / "evalplatform.yaml"
        with suite(file) as (context, cell, judge):
            run_cell(context, cell, judge)
            run, report = stored_run(context, cell, judge), context.upstream(arms_report.ASSET, arm_summary.partition(cell, judge))
            draws = [
                compared_run_of(json.loads(context.catalog.read(report, f"arms.d{draw}.json")), path=Path("arms.json"), name=cell.id)
                for draw in range(2)
            ]
    assert run.identity.draws == 2
    assert run.identity == draws[0].identity.with_changes(draws=2)
    for arm in run.identity.arms:
        for question in run.identity.question_ids:
            assert run.arms[arm].points[question] == pytest.approx(fmean(draw.arms[arm].points[question] for draw in draws))
            lengths = [draw.arms[arm].final_answer_chars[question] for draw in draws]
            assert run.arms[arm].final_answer_chars[question] == pytest.approx(fmean(lengths))
        assert run.arms[arm].answers == len(run.identity.question_ids)
        assert run.arms[arm].cost.answers == sum(draw.arms[arm].cost.answers or 0 for draw in draws)


def test_a_summary_of_earlier_answers_is_refused_and_its_own_versions_are_still_read(tmp_path: Path) -> None:
    file = starter(tmp_path)
    with suite(file) as (context, cell, judge):
        run_cell(context, cell, judge)
        before, versions = stored_run(context, cell, judge), current_versions(context, cell, judge)
    edited(file, ("      - profile:profiles/plain-speaker.md\n", ""))
    with suite(file) as (context, cell, judge):
        materialize_question_set(context)
        materialize_corpus(context)
        asyncio.run(materialize_arm_answers(context, cell))
        with pytest.raises(InputError, match="was made from an earlier arm_answers; materialize arm_summary again first"):
            stored_run(context, cell, judge)
        assert compared_run(context, versions) == before


def test_a_cell_that_was_never_summarised_is_named(tmp_path: Path) -> None:
    with suite(starter(tmp_path)) as (context, cell, judge), pytest.raises(InputError, match="has no arm_answers of partition 'reader-"):
        stored_run(context, cell, judge)
