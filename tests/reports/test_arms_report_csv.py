"""Scores as CSV."""

import csv
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.digests import answer_digest
from evalplatform.reports.csv import spreadsheet_safe, write_scores_csv
from tests.support.arms_fixture import ArmsRun, arms_run
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"


def written(run: ArmsRun) -> str:
    out = io.StringIO(newline="")
    write_scores_csv(
        out,
        questions=run.questions,
        arms=run.facts.arms,
        draws=run.facts.draws,
        answers=run.answers,
        scores=run.scores,
        timings=run.timings,
    )
    return out.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_file_reads_as_it_did() -> None:
    assert_snapshot(SNAPSHOTS / "scores.csv", written(arms_run(questions=4, arms=("baseline", "docs"))))


def test_what_was_required_retrieved_and_kept_is_counted_where_questions_require_documents() -> None:
    found = rows(written(arms_run(questions=4, arms=("baseline", "docs"), retrieval=True)))
    counts = [tuple(row[name] for name in ("required_documents", "required_retrieved", "required_kept")) for row in found]
    assert counts == [("", "", "")] * 2 + [("2", "", ""), ("2", "1", "1"), ("1", "", ""), ("1", "1", "1"), ("2", "", ""), ("2", "2", "1")]
    assert "required_documents" not in rows(written(arms_run(questions=4, arms=("baseline", "docs"))))[0]


def test_there_is_a_row_for_every_question_arm_and_draw_in_order() -> None:
    run = arms_run(questions=5, draws=2, arms=("baseline", "docs"))
    found = [(row["question_id"], row["arm"], row["draw"]) for row in rows(written(run))]
    assert found == [(f"q{number:04d}", arm, str(draw)) for number in range(5) for arm in ("baseline", "docs") for draw in range(2)]


def test_a_missing_number_is_empty_and_its_reason_beside_it() -> None:
    run = arms_run(arms=("baseline", "docs"))
    failed = next(row for row in rows(written(run)) if row["question_id"] == "q0003" and row["arm"] == "docs")
    assert (failed["state"], failed["points"], failed["cost_usd"]) == ("failed", "", "")
    assert failed["unscored_reason"] == "no_answer:generation_failed: timeout: no reply within 60 s"


def test_an_answer_that_was_never_asked_for_has_a_row_that_says_so() -> None:
    run = arms_run(questions=3, arms=("baseline", "docs"))
    short = ArmsRun(run.facts, run.questions, run.answers[:-1], run.scores[:-1], run.timings[:-1], run.summary)
    last = rows(written(short))[-1]
    assert (last["state"], last["unscored_reason"], last["points"]) == ("not_asked", "not_asked", "")


def test_an_answer_has_the_digest_that_labels_belong_to() -> None:
    run = arms_run(questions=2, arms=("baseline", "docs"))
    texts = {(answer.question_id, answer.arm): answer.answer for answer in run.answers}
    asked = {question.id: question.question for question in run.questions.questions}
    for row in rows(written(run)):
        assert row["answer_digest"] == answer_digest(asked[row["question_id"]], texts[row["question_id"], row["arm"]] or "")


def test_points_are_not_rounded() -> None:
    run = arms_run(questions=3, arms=("baseline", "docs"))
    judgement = run.scores[0].judgement.with_changes(points=200 / 3)
    exact = ArmsRun(
        run.facts, run.questions, run.answers, (run.scores[0].with_changes(judgement=judgement), *run.scores[1:]), run.timings, run.summary
    )
    assert float(rows(written(exact))[0]["points"]) == 200 / 3


@given(st.text(st.characters(), max_size=60))
def test_no_text_can_start_a_formula_and_every_text_comes_back(text: str) -> None:
    safe = spreadsheet_safe(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    safe.encode("utf-8")
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert safe.removeprefix("'") == text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_question_text_round_trips_through_the_file(text: str) -> None:
    run = arms_run(questions=1, arms=("baseline",), failures=False)
    questions = run.questions.with_changes(questions=(run.questions.questions[0].with_changes(question=text),))
    changed = ArmsRun(run.facts, questions, run.answers, run.scores, run.timings, run.summary)
    assert rows(written(changed))[0]["question"] == spreadsheet_safe(text)


def test_a_numeric_cell_that_is_negative_stays_a_number() -> None:
    text = written(arms_run(questions=3, arms=("baseline",), failures=False))
    assert "'" not in text
