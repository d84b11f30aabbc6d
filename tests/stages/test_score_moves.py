"""What moved a cell's scores, on a real project: edited judges, edited answers, both, and the first scores ever."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.score_move_summary import StoredMoves
from evalplatform.comparisons.score_moves import ScoreMove
from evalplatform.project.load import load_project
from evalplatform.stages import judged_scores
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.stages.score_moves import MARKDOWN_FILE, materialize_score_moves, stored_moves, stored_rows
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited, starter

OVERLAP = "facts: {kind: overlap, model: overlap, endpoint: here}"
LENIENT = "facts: {kind: rubric, model: grader, endpoint: there, rubric: lenient.md}"
STRICT = "facts: {kind: rubric, model: grader, endpoint: there, rubric: strict.md}"


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


@pytest.fixture
def file(tmp_path: Path, stub: ModelStub) -> Path:
    """The starter project, judged by a model that is told to be lenient."""
    here = "  here: {provider: offline}"
    there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}", retry: {{attempts: 1}}}}'
    (tmp_path / "lenient.md").write_text("Be lenient.")
    (tmp_path / "strict.md").write_text("Be strict.")
    return starter(tmp_path, (here, f"{here}\n{there}"), (OVERLAP, LENIENT))


@contextmanager
def suite(file: Path) -> Iterator[SuiteContext]:
    with OpenedProject(load_project(file, environ={})) as opened:
        yield opened.suite_context("kettle")


def ran(file: Path, *, judge: int = 0) -> CellRun:
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        return run_cell(context, cell, context.project.judges_of("kettle")[judge])


def moved(file: Path, *, judge: int = 0) -> tuple[StageResult, StoredMoves, list[ScoreMove]]:
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        result = materialize_score_moves(context, cell, context.project.judges_of("kettle")[judge])
        return result, stored_moves(context, result.manifest), stored_rows(context, result.manifest)


def page(file: Path, manifest: ArtifactManifest) -> str:
    with suite(file) as context:
        return context.catalog.read(manifest, MARKDOWN_FILE).decode()


def change_answers(file: Path) -> None:
    """Edit the profile, so that some answers of its arm become others; a judge is shown nothing of a profile."""
    profile = file.parent / "profiles/plain-speaker.md"
    profile.write_text(profile.read_text() + "Kettle waits 80 seconds for a boil.\n")


def change_documents(file: Path) -> None:
    """Edit a document, so that some answers of the arms that are given it become others; a judge is shown what they were given."""
    edited(file.parent / "docs/boiling.md", ("after 90 seconds", "after 80 seconds"))


def with_seed(judge: str) -> str:
    return judge.replace("}", ", sampling: {seed: 5}}")


def test_the_first_scores_have_none_before_them_and_the_result_says_so(file: Path) -> None:
    run = ran(file)
    result, stored, rows = moved(file)
    assert (stored.before, stored.relation, stored.summary, rows) == (None, None, None, [])
    assert result.manifest.facts["findings"] == ["These are the first scores of this cell: there are none before them to compare with."]
    assert {upstream.artifact.asset for upstream in result.manifest.lineage} == {"judged_scores", "arm_answers"}
    assert run.stages[3].manifest.data_version == stored.now.scores_version


def test_an_edited_judge_moves_every_score_and_the_answers_none(file: Path, stub: ModelStub) -> None:
    ran(file)
    edited(file, (LENIENT, STRICT))
    ran(file)
    asked = stub.requests
    result, stored, rows = moved(file)
    assert stored.relation == "edited_judge"
    assert stored.before is not None
    assert (stored.before.judge_id, stored.before.judge_key == stored.now.judge_key) == ("facts", False)
    assert stored.before.answers_version == stored.now.answers_version
    assert {row.state for row in rows} == {"separable"}
    assert {row.answers_move_points for row in rows} == {0.0}
    assert any(row.judge_move_points for row in rows)
    assert all(row.points_before is not None and row.whole_move_points == row.judge_move_points for row in rows)
    assert stub.requests == asked
    assert stored.before.judge_key in page(file, result.manifest)
    assert "scores by this judge before it was edited" in page(file, result.manifest)


def test_new_answers_by_the_same_judge_move_by_the_answers_alone(file: Path) -> None:
    ran(file)
    change_answers(file)
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "same_judge"
    assert stored.before is not None
    assert stored.before.judge_key == stored.now.judge_key
    by_arm = {arm: [row for row in rows if row.arm == arm] for arm in ("baseline", "profile:plain-speaker")}
    # The baseline arm is given no profile: the same text, material and prompt, and so the very same judgement.
    assert {row.whole_move_points for row in by_arm["baseline"]} == {0.0}
    assert any(row.answers_move_points for row in by_arm["profile:plain-speaker"])
    assert {row.judge_move_points for row in rows} == {0.0}


def test_new_answers_beside_other_documents_are_not_told_apart_from_how_they_were_judged(file: Path) -> None:
    ran(file)
    change_documents(file)
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "same_judge"
    by_state = {state: [row for row in rows if row.state == state] for state in ("separable", "not_separable")}
    assert {row.arm for row in by_state["not_separable"]} == {"docs", "docs+skill:use-kettle"}
    assert {row.answers_move_points for row in by_state["separable"]} == {0.0}


@pytest.mark.parametrize("change", [change_answers, change_documents])
def test_a_seed_of_the_judge_that_changed_with_the_answers_is_not_taken_for_their_move(file: Path, change: Callable[[Path], None]) -> None:
    ran(file)
    change(file)
    edited(file, (LENIENT, with_seed(LENIENT)))
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "same_judge"
    assert any(row.state == "not_separable" for row in rows)
    assert {row.answers_move_points for row in rows if row.state == "separable"} == {0.0}


def test_an_earlier_score_with_the_seed_now_tells_seed_and_answers_apart(file: Path) -> None:
    ran(file)
    edited(file, (LENIENT, with_seed(LENIENT)))
    ran(file)
    change_answers(file)
    edited(file, (with_seed(LENIENT), LENIENT))
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "same_judge"
    assert {row.state for row in rows} == {"separable"}
    assert {row.bridge for row in rows} == {None, "old_answer_new_judge"}


def test_scores_of_another_version_of_the_judging_code_are_not_taken_for_the_same_judging(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(file)
    change_answers(file)
    monkeypatch.setattr(judged_scores, "CODE_VERSION", "another")
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "same_judge"
    assert any(row.state == "not_separable" for row in rows)
    assert {row.answers_move_points for row in rows if row.state == "separable"} == {0.0}


def test_an_edited_question_leaves_its_own_new_answers_alone_untold(file: Path) -> None:
    ran(file)
    edited(file.parent / "questions.json", ("How do I install Kettle on a laptop?", "How do I install Kettle on a big laptop?"))
    change_answers(file)
    ran(file)
    _, _, rows = moved(file)
    assert {row.question_id for row in rows if row.state == "not_separable"} == {"install"}
    assert {row.question_id for row in rows if row.answers_move_points} >= {"boil-time"}


def test_where_the_questions_of_earlier_answers_are_gone_nothing_is_guessed(file: Path) -> None:
    ran(file)
    first = next((file.parent / ".evalplatform/store/artifacts/kettle/question_set/all").iterdir())
    edited(file.parent / "questions.json", ("on a laptop", "on a big laptop"))
    change_answers(file)
    shutil.rmtree(first)
    ran(file)
    _, _, rows = moved(file)
    assert {row.answers_move_points for row in rows if row.state == "separable"} == {0.0}


def test_where_judge_and_answers_changed_at_once_only_the_unchanged_texts_are_told_apart(file: Path) -> None:
    ran(file)
    change_answers(file)
    edited(file, (LENIENT, STRICT))
    ran(file)
    result, stored, rows = moved(file)
    states = {state: [row for row in rows if row.state == state] for state in ("separable", "not_separable")}
    assert stored.relation == "edited_judge"
    assert len(states["separable"]) + len(states["not_separable"]) == len(rows)
    assert {row.arm for row in states["separable"]} >= {"baseline"}
    assert states["not_separable"]
    assert {row.judge_move_points for row in states["not_separable"]} == {None}
    assert result.manifest.facts["not_separable"] == len(states["not_separable"])
    assert "answer and judging both changed, and no third score tells them apart" in page(file, result.manifest)


def test_an_earlier_score_by_the_judge_now_tells_judge_and_answers_apart(file: Path) -> None:
    for old, new in ((LENIENT, STRICT), (STRICT, LENIENT)):
        edited(file, (old, new))
        ran(file)  # strict of the old answers, then lenient of the old answers
    change_answers(file)
    edited(file, (LENIENT, STRICT))
    ran(file)  # strict of the new answers
    result, stored, rows = moved(file)
    assert stored.relation == "edited_judge"
    assert {row.state for row in rows} == {"separable"}
    bridged = [row for row in rows if row.bridge is not None]
    assert {row.bridge for row in bridged} == {"old_answer_new_judge"}
    assert any(row.judge_move_points and row.answers_move_points for row in bridged)
    for row in bridged:
        assert row.judge_move_points is not None
        assert row.answers_move_points is not None
        assert row.judge_move_points + row.answers_move_points == row.whole_move_points
    read = [(upstream.artifact.partition, upstream.data_version) for upstream in result.manifest.lineage]
    assert len(read) == len(set(read)) == 5  # three versions of scores, two of answers


def test_a_second_judge_of_the_suite_is_compared_with_the_one_that_was_there_and_not_the_other_way(file: Path) -> None:
    ran(file)
    edited(
        file,
        (LENIENT, f"{LENIENT}\n  second: {{kind: overlap, model: overlap, endpoint: here}}"),
        ("judges: [facts]", "judges: [facts, second]"),
    )
    ran(file, judge=1)
    _, second, rows = moved(file, judge=1)
    assert second.relation == "other_judge"
    assert second.before is not None
    assert second.before.judge_id == "facts"
    assert {row.answers_move_points for row in rows} == {0.0}
    assert moved(file)[1].before is None


def test_moves_are_computed_once_and_again_only_where_what_they_compare_changed(file: Path) -> None:
    ran(file)
    moved(file)
    assert moved(file)[0].unchanged
    edited(file, (LENIENT, STRICT))
    ran(file)
    moved(file)
    assert moved(file)[0].unchanged


def test_unfinished_scores_are_passed_over(file: Path, stub: ModelStub) -> None:
    ran(file)
    change_answers(file)
    edited(file, (LENIENT, STRICT))
    stub.fail_after = stub.requests + 3
    assert not ran(file).stages[3].manifest.facts["complete"]
    stub.fail_after = None
    ran(file)
    _, stored, rows = moved(file)
    assert stored.relation == "edited_judge"
    assert stored.before is not None
    assert all(row.points_before is not None for row in rows)
