"""Which stored answers a judge is tried with, and that nothing but the judge is asked."""

import asyncio
from pathlib import Path

import pytest

from evalplatform.kernel.errors import InputError
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.judge_validity import Material, TriedValidity, intact_answers, tried_validity
from evalplatform.stages.pipeline import run_cell
from evalplatform.wiring import OpenedProject
from tests.support.starter import starter_project


def context_of(opened: OpenedProject) -> SuiteContext:
    return opened.suite_context("kettle")


def tried(opened: OpenedProject, *, bases: int = 20, material: Material = "both") -> TriedValidity:
    (cell,), (judge,) = opened.project.cells_of("kettle"), opened.project.judges_of("kettle")
    return asyncio.run(tried_validity(context_of(opened), cell, judge, bases=bases, material=material))


def opened_and_judged(folder: Path) -> OpenedProject:
    opened = OpenedProject(starter_project(folder))
    (cell,), (judge,) = opened.project.cells_of("kettle"), opened.project.judges_of("kettle")
    run_cell(context_of(opened), cell, judge)
    return opened


def test_each_question_gives_an_answer_that_had_material_with_its_stored_score(tmp_path: Path) -> None:
    with opened_and_judged(tmp_path) as opened:
        (cell,), (judge,) = opened.project.cells_of("kettle"), opened.project.judges_of("kettle")
        context = context_of(opened)
        scores = context.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
        points = {(row.question_id, row.arm): row.points for row in judged_scores.stored_points(context, scores)}
        found = tried(opened)
    chosen = {pair.question_id: pair.arm for pair in found.pairs}
    assert len(chosen) == found.validity.intact_answers == found.candidates == 8
    assert "baseline" not in chosen.values()
    assert len(set(chosen.values())) > 1
    assert {pair.intact_points for pair in found.pairs if pair.condition == "with"} == {points[place] for place in chosen.items()}


def test_what_a_judge_gave_and_in_which_order_answers_are_stored_choose_nothing(tmp_path: Path) -> None:
    with OpenedProject(starter_project(tmp_path)) as opened:
        (cell,), (judge,) = opened.project.cells_of("kettle"), opened.project.judges_of("kettle")
        context = context_of(opened)
        run_cell(context, cell, None)
        unjudged = tried(opened)
        stored = arm_answers.stored_answers(context, context.upstream(arm_answers.ASSET, cell.key))
        run_cell(context, cell, judge)
        assert tried(opened).pairs == unjudged.pairs
    assert intact_answers(stored) == intact_answers(list(reversed(stored)))


def test_fewer_answers_are_the_first_of_more_and_are_degraded_alike(tmp_path: Path) -> None:
    with opened_and_judged(tmp_path) as opened:
        few, all_ = tried(opened, bases=3), tried(opened)
        assert tried(opened, bases=3).pairs == few.pairs
    questions = {pair.question_id for pair in few.pairs}
    assert len(questions) == 3
    assert set(few.pairs) == {pair for pair in all_.pairs if pair.question_id in questions}


def test_answers_need_not_have_been_judged_before(tmp_path: Path) -> None:
    with OpenedProject(starter_project(tmp_path)) as opened:
        (cell,) = opened.project.cells_of("kettle")
        run_cell(context_of(opened), cell, None)
        found = tried(opened, material="without")
        assert found.validity.intact_answers == 8
        assert {pair.condition for pair in found.pairs} == {"without"}
        assert found.validity.gating == "without"


def test_a_cell_without_an_answer_has_nothing_to_try_a_judge_with(tmp_path: Path) -> None:
    with opened_and_judged(tmp_path) as opened:
        (cell,) = opened.project.cells_of("kettle")
        context = context_of(opened)
        manifest = context.upstream(arm_answers.ASSET, cell.key)
        unanswered = [
            answer.with_changes(state="no_answer", answer=None, reason="no_answer:empty")
            for answer in arm_answers.stored_answers(context, manifest)
        ]
        files = {name: context.catalog.read(manifest, name) for name in manifest.files}
        files[arm_answers.ANSWERS_FILE] = arm_answers.ANSWERS.write(unanswered)
        context.catalog.write(
            manifest.artifact,
            data_version="0" * 16,
            code_version=manifest.code_version,
            created_at=manifest.created_at,
            inputs=manifest.inputs,
            lineage=manifest.lineage,
            files=files,
            facts=manifest.facts,
        )
        with pytest.raises(InputError, match="has no answer in suite 'kettle' that could be graded"):
            tried(opened)
