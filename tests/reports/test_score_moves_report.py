"""Moved scores in words: the page that a person reads after a judge or the answers changed."""

from datetime import UTC, datetime
from pathlib import Path

from evalplatform.comparisons.records import ScorePoints
from evalplatform.comparisons.score_move_summary import Relation, ScoredVersion, StoredMoves, summarise_moves
from evalplatform.comparisons.score_moves import ScoreMove, by_place, score_moves
from evalplatform.kernel.digests import text_digest
from evalplatform.reports.score_moves_report import move_sentences, score_moves_markdown
from tests.support.snapshots import assert_snapshot

ARMS = ("baseline", "docs")
BEFORE = {"baseline": [50.0, 60.0, 70.0, 40.0], "docs": [60.0, 60.0, 80.0, None]}
NOW = {"baseline": [55.0, 60.0, 70.0, 40.0], "docs": [80.0, 70.0, 80.0, 90.0]}


def scores(table: dict[str, list[float | None]]) -> list[ScorePoints]:
    return [
        ScorePoints(f"q{number}", arm, 0, points, None if points is not None else "malformed_reply")
        for arm, column in table.items()
        for number, points in enumerate(column)
    ]


def moves() -> list[ScoreMove]:
    return score_moves(
        by_place(scores(NOW)),
        by_place(scores(BEFORE)),
        same_judge=False,
        changed_answers={("q0", "docs", 0), ("q1", "docs", 0)},
        changed_tasks=(),
        new_answers_old_judge=by_place(scores({"docs": [75.0]})),
    )


def version(key: str, day: int, *, answers: str = "a" * 16) -> ScoredVersion:
    return ScoredVersion(
        judge_id="strict",
        judge_key=key,
        judge_model="panel[technical_expert]:judge_large",
        prompt_digest=text_digest(key),
        scores_version=f"{day}" * 16,
        answers_version=answers,
        scored_at=datetime(2026, 3, day, 8, 30, tzinfo=UTC),
    )


def stored(relation: Relation = "edited_judge", rows: list[ScoreMove] | None = None) -> StoredMoves:
    return StoredMoves(
        cell_key="small-3f9a1c",
        now=version("strict-9bd2e0", 4, answers="b" * 16),
        before=version("strict-11aa22", 2),
        relation=relation,
        summary=summarise_moves(moves() if rows is None else rows, arms=ARMS, baseline_arm="baseline"),
    )


def test_the_page_reads_as_it_did() -> None:
    assert_snapshot(Path(__file__).parent / "snapshots" / "score_moves.md", score_moves_markdown(stored(), moves(), suite="storage-how-to"))


def test_a_sentence_an_arm_says_what_moved_it_and_how_much_cannot_be_told() -> None:
    assert move_sentences(stored()) == (
        "baseline: the judge moved it by +1.2 [-2.7, +5.2] points, the answers by 0.0 [0.0, 0.0] points.",
        "docs: the judge moved it by +2.5 [-29.3, +34.3] points, the answers by +7.5 [-87.8, +102.8] points; 2 of 4 scores cannot be told.",
    )
    untold = score_moves(by_place(scores(NOW)), {}, same_judge=True, changed_answers=(), changed_tasks=())
    assert move_sentences(stored(rows=untold))[0] == "baseline: none of 4 scores can be told."


def test_scores_before_that_were_made_later_are_said_to_be_those_of_an_edit_that_was_undone() -> None:
    undone = stored().with_changes(now=version("strict-11aa22", 2), before=version("strict-9bd2e0", 4))
    page = score_moves_markdown(undone, moves(), suite="storage-how-to")
    assert "the scores that were current before: made later, by the judge as it was until its edit was undone" in page
    assert "before it was edited" not in page


def test_the_first_scores_have_a_page_that_says_so_and_no_table() -> None:
    first = StoredMoves(cell_key="small-3f9a1c", now=version("strict-9bd2e0", 4))
    page = score_moves_markdown(first, [], suite="storage-how-to")
    assert "These are the first scores of this cell" in page
    assert "|" not in page


def test_names_that_users_wrote_stay_text() -> None:
    named = [ScorePoints("q|1 <b>", "docs*", 0, points, None) for points in (10.0,)]
    before = [ScorePoints("q|1 <b>", "docs*", 0, 90.0, None)]
    rows = score_moves(by_place(named), by_place(before), same_judge=False, changed_answers=(), changed_tasks=())
    page = score_moves_markdown(stored(rows=rows), rows, suite="s")
    assert r"| q\|1 \<b> | docs\* |" in page
