"""A new judge, or an edited one, on stored answers: nothing is answered again, and earlier scores stay and say which they are."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.ask import Asker, CallOutcome
from evalplatform.judging.grading import Grading, graded
from evalplatform.judging.kinds import rubric
from evalplatform.judging.records import JudgeTask
from evalplatform.ports.ledger import Purpose
from evalplatform.ports.model_client import ModelRequest
from evalplatform.project.load import load_project
from evalplatform.stages import arms_report, judged_scores
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import report_facts, score_facts
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.stages.plan import plan_suite
from evalplatform.stages.score_stages import stages_of
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited, starter

J1 = "facts: {kind: rubric, model: grader-1, endpoint: judging, rubric: rubric.md}"
J2 = "j2: {kind: panel, model: grader-2, endpoint: judging}"


@pytest.fixture
def judging() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


def project_at(folder: Path, *, answering_url: str, judging_url: str, questions: int) -> Path:
    """A project whose answers and judgements come from two servers."""
    endpoints = "\n".join(
        f'  {name}: {{provider: openai-compatible, base_url: "{url}", retry: {{attempts: 1}}}}'
        for name, url in (("answering", answering_url), ("judging", judging_url))
    )
    (folder / "rubric.md").write_text("Be fair.")
    file = starter(
        folder,
        ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{endpoints}"),
        ("endpoint: here, sampling", "endpoint: answering, sampling"),
        ("facts: {kind: overlap, model: overlap, endpoint: here}", J1),
    )
    asked = [{"id": f"q{number}", "question": f"How do I boil {number} litres?"} for number in range(questions)]
    (folder / "questions.json").write_text(json.dumps({"questions": asked}))
    return file


@contextmanager
def suite(file: Path) -> Iterator[SuiteContext]:
    with OpenedProject(load_project(file, environ={})) as opened:
        yield opened.suite_context("kettle")


def ran(file: Path) -> CellRun:
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        return run_cell(context, cell, context.project.judges_of("kettle")[0])


def judged_alone(file: Path, judge_id: str) -> dict[str, ArtifactManifest]:
    """Run the chain of one judge on stored answers, as a backfill does; return what it left, by asset."""
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        judge = context.project.judge(judge_id)
        results = [stage.materialize(context, cell, judge) for stage in stages_of(context.suite, judge)]
        return {result.manifest.artifact.asset: result.manifest for result in results}


def report_text(file: Path, manifest: ArtifactManifest, name: str = arms_report.MARKDOWN_FILE) -> str:
    with suite(file) as context:
        return context.catalog.read(manifest, name).decode()


def test_a_new_judge_scores_stored_answers_while_the_answering_server_is_down(tmp_path: Path, judging: ModelStub) -> None:
    """Pitfall R02: 20 stored answers, an unreachable generator, 0 calls to it."""
    with running_stub() as answering:
        file = project_at(tmp_path, answering_url=answering.url, judging_url=judging.url, questions=4)
        answers = ran(file).stages[2].manifest.facts
        assert answers["states"] == {"answered": 20}
        asked = answering.requests
    edited(file, (J1, f"{J1}\n  {J2}"), ("judges: [facts]", "judges: [facts, j2]"))

    made = judged_alone(file, "j2")

    assert answering.requests == asked
    scores = score_facts(made[judged_scores.ASSET])
    assert (scores.rows, scores.scored, scores.complete) == (20, 20, True)
    assert (scores.answer_calls, scores.calls.paid > 0) == (0, True)
    assert report_facts(made[arms_report.ASSET]).answer_calls == 0
    assert "this judging asked 0 answer calls" in report_text(file, made[arms_report.ASSET])
    assert {body["model"] for body in judging.bodies()} == {"grader-1", "grader-2"}


def test_a_judging_that_asked_for_answers_would_show_in_facts_and_report(
    tmp_path: Path, judging: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def graded_by_answer_calls(task: JudgeTask, *, asker: Asker, **brief: Any) -> Grading:
        return await graded(task, asker=_AsksForAnswers(asker), **brief)

    monkeypatch.setattr(rubric, "graded", graded_by_answer_calls)
    run = ran(project_at(tmp_path, answering_url=judging.url, judging_url=judging.url, questions=1))
    assert score_facts(run.stages[3].manifest).answer_calls == 5
    assert report_facts(run.report).answer_calls == 5
    assert "**Problem:** This judging asked 5 answer calls" in report_text(tmp_path / "evalplatform.yaml", run.report)


class _AsksForAnswers:
    """An asker whose calls all say that they are for an answer."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def ask(self, request: ModelRequest, *, purpose: Purpose, draw: int = 0, attempt: int = 0) -> CallOutcome:
        return await self._asker.ask(request, purpose="answer", draw=draw, attempt=attempt)


def test_an_edited_rubric_leaves_the_scores_before_it_with_their_own_prompt_digest_and_downloadable(
    tmp_path: Path, judging: ModelStub
) -> None:
    file = project_at(tmp_path, answering_url=judging.url, judging_url=judging.url, questions=2)
    before = ran(file).report
    (tmp_path / "rubric.md").write_text("Be strict.")
    after = ran(file).report
    assert before.artifact != after.artifact
    with suite(file) as context:
        listed = {artifact.partition for artifact in context.catalog.list(suite="kettle", asset=arms_report.ASSET)}
        assert listed == {before.artifact.partition, after.artifact.partition}
        current = [context.catalog.current(report.artifact) for report in (before, after)]
        digests = []
        for report in (before, after):
            scores = context.made_from(report, judged_scores.ASSET)
            digests.append(score_facts(scores).judge.prompt_digest)
    assert current == [before, after]
    assert digests[0] != digests[1]
    for report, own, other in ((before, *digests), (after, *reversed(digests))):
        for name in (arms_report.MARKDOWN_FILE, arms_report.HTML_FILE, "arms.json"):
            text = report_text(file, report, name)
            assert own in text
            assert other not in text


def test_a_plan_counts_every_vote_of_a_panel_and_asks_none(tmp_path: Path, judging: ModelStub) -> None:
    file = project_at(tmp_path, answering_url=judging.url, judging_url=judging.url, questions=2)
    edited(file, (J1, f"{J1}\n  {J2}"), ("judges: [facts]", "judges: [facts, j2]"))
    with suite(file) as context:
        one_voice, panel = asyncio.run(plan_suite(context)).judgements
    assert panel.calls == 3 * one_voice.calls > 0
    assert judging.requests == 0
