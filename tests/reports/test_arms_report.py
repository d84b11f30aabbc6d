"""What a reader of an arms report is told."""

from dataclasses import replace

import pytest

from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.records import ArmSummary
from evalplatform.judging.kinds.panel import panel_verdict
from evalplatform.judging.records import PanelVote
from evalplatform.kernel.errors import InputError
from evalplatform.reports.arms_questions import DRILL_DOWN_LIMIT, TABLE_QUESTIONS_LIMIT
from evalplatform.reports.arms_retrieval import retrieval_sentences
from evalplatform.reports.arms_view import ArmsReport, summary_table
from evalplatform.reports.view import Section
from tests.support.arms_fixture import ArmsRun, arms_run


@pytest.fixture(scope="module")
def run() -> ArmsRun:
    return arms_run()


@pytest.fixture(scope="module")
def report(run: ArmsRun) -> ArmsReport:
    return run.report()


def section(report: ArmsReport, key: str) -> Section:
    return next(part for part in report.sections if part.key == key)


def column(part: Section, label: str) -> list[str]:
    position = [column.label for column in part.table.columns].index(label)
    return [row[position].text for row in part.table.rows]


def notice(report: ArmsReport, start: str) -> str:
    return next(notice.text for notice in report.notices if notice.text.startswith(start))


def resummarised(run: ArmsRun, **changes: object) -> ArmsRun:
    changed = replace(run, **changes)
    summary = summarise_arms(
        arms=changed.facts.arms,
        baseline_arm=changed.facts.baseline_arm,
        question_ids=[question.id for question in changed.questions.questions],
        answers=changed.answers,
        scores=changed.scores,
        timings=changed.timings,
        draws=changed.facts.draws,
        required_documents=changed.questions.required_documents,
    )
    return replace(changed, summary=summary)


def test_the_sections_come_in_the_published_order(report: ArmsReport) -> None:
    assert report.summary.key == "summary"
    assert [part.key for part in report.sections] == ["significance", "interaction", "cost", "unscored"]
    assert report.question_scores.key == "questions"


def test_retrieval_has_a_section_where_questions_require_documents() -> None:
    run = arms_run(retrieval=True)
    report = run.report()
    assert [part.key for part in report.sections] == ["significance", "interaction", "retrieval", "cost", "unscored"]
    part = section(report, "retrieval")
    assert column(part, "Arm") == ["docs", "docs", "docs+skill:bucket-lifecycle", "docs+skill:bucket-lifecycle"]
    assert column(part, "Documents") == ["retrieved", "kept"] * 2
    assert column(part, "k") == ["5", "3"] * 2
    measures = run.summary.retrieval["docs"].retrieved
    assert measures is not None
    assert column(part, "Recall@k")[0] == f"{measures.mean_recall_rate:.3f}"
    assert column(part, "Hits")[0] == column(part, "Measured")[0] == "39/39"
    documents = [next((fact.value for fact in answer.record if fact.label == "Documents"), None) for answer in report.questions[3].answers]
    assert documents[:2] == [None, "2 required, 2 of them retrieved, 1 kept"]


def test_retrieval_fits_a_line_of_a_terminal() -> None:
    run = arms_run(retrieval=True, arms=("baseline", "docs"))
    measures = run.summary.retrieval["docs"].retrieved
    assert measures is not None
    (line,) = retrieval_sentences(run.summary)
    assert line.startswith(f"docs: recall@5 {measures.mean_recall_rate:.3f} [")
    assert line.endswith("hit@3 39/39")
    assert retrieval_sentences(arms_run(arms=("baseline", "docs"), questions=4).summary) == ()


def test_retrieval_that_failed_is_said_to_be_unmeasured() -> None:
    run = arms_run(questions=8, arms=("baseline", "docs"), retrieval=True)
    gone = tuple(
        row.with_changes(state="failed", answer=None, reason="prepare_failed: retrieval_failed: gone", metadata={}, context_chunks=())
        if row.arm == "docs" and row.question_id in ("q0001", "q0002")
        else row
        for row in run.answers
    )
    part = section(resummarised(run, answers=gone).report(), "retrieval")
    assert column(part, "Measured") == ["5/7", "5/7"]
    assert any("are not measured" in note and "failed" in note for note in part.notes)


def test_headings_name_the_arm_that_was_scored() -> None:
    report = arms_run(arms=("baseline", "skill:bucket-lifecycle"), questions=8).report()
    assert report.title == "Object Storage: skill:bucket-lifecycle against baseline"
    assert section(report, "significance").title == "Paired significance: skill:bucket-lifecycle minus baseline"
    assert "context arm" not in report.model_dump_json().lower()


def test_every_mean_and_delta_stands_beside_its_interval(report: ArmsReport) -> None:
    for row in summary_table(report):
        assert row.mean_interval.startswith("[")
        if row.arm != report.baseline_arm:
            assert row.delta_interval.startswith("[")
            assert row.verdict in {"higher", "lower", "no difference shown"}


def test_the_baseline_has_no_delta_and_no_verdict_of_its_own(report: ArmsReport) -> None:
    row = summary_table(report)[0]
    assert (row.delta_points, row.delta_interval, row.p_adjusted, row.verdict) == ("—", "—", "—", "baseline")


def test_numbers_are_those_of_the_summary_rounded_once(run: ArmsRun, report: ArmsReport) -> None:
    effect = run.summary.deltas["docs"].effect
    assert effect is not None
    assert column(section(report, "significance"), "Delta")[0] == f"{effect.delta_mean:+.2f}"
    assert summary_table(report)[1].delta_points == f"{effect.delta_mean:+.1f}"


def test_a_low_coverage_is_the_first_thing_said(report: ArmsReport) -> None:
    assert report.notices[0].level == "problem"
    assert report.notices[0].text.startswith("Coverage is 90.0%, below 95%")


def test_failed_and_missing_answers_are_counted_by_arm_and_reason(report: ArmsReport) -> None:
    said = "2 answers failed (generation_failed: timeout 2), such as: generation_failed: timeout: no reply within 60 s. Unscored, never"
    assert said in notice(report, "docs:")
    assert "no_answer:budget 1" in notice(report, "profile:concise_expert:")
    assert "docs 1" in notice(report, "Same call:")


def test_scores_read_after_a_redraw_are_told_from_those_that_no_redraw_made_readable(run: ArmsRun) -> None:
    read = {"redraws": 1, "points": 50.0, "reason": None}
    unread = {"redraws": 2, "points": None, "reason": "malformed_reply"}
    once = {"redraws": 0}
    changes = [*([read] * 3), *([unread] * 2), *([once] * (len(run.scores) - 5))]
    scores = [
        score.with_changes(judgement=score.judgement.with_changes(**change)) for score, change in zip(run.scores, changes, strict=True)
    ]
    found = [notice.text for notice in resummarised(run, scores=scores).report().notices if "asked again" in notice.text]
    assert found == [
        "3 scores: read only after the judge was asked again.",
        "2 scores: left without points although the judge was asked again.",
    ]


def test_a_vote_that_was_asked_for_again_and_lost_reads_no_score(run: ArmsRun) -> None:
    lost = PanelVote(role="doc_reviewer", reason="malformed_reply", redraws=2)
    votes = [(PanelVote(role="technical_expert", points=50.0, redraws=redraws), lost) for redraws in (0, 1)]
    of_panels = [{"redraws": 2, "points": 50.0, "reason": None, "panel": panel_verdict(pair)} for pair in votes]
    scores = [score.with_changes(judgement=score.judgement.with_changes(redraws=0)) for score in run.scores]
    scores[:2] = [
        score.with_changes(judgement=score.judgement.with_changes(**panel)) for score, panel in zip(scores[:2], of_panels, strict=True)
    ]
    found = [notice.text for notice in resummarised(run, scores=scores).report().notices if "asked again" in notice.text]
    assert found == ["1 score: read only after the judge was asked again."]


def test_a_treatment_that_was_cut_is_said_so_by_arm_and_part(run: ArmsRun) -> None:
    cut = {"docs": {"context_truncated": True}, "docs+skill:bucket-lifecycle": {"treatments": [{}, {"skill_truncated": True}]}}
    answers = tuple(row.with_changes(metadata=cut[row.arm]) if row.arm in cut and row.question_id < "q0003" else row for row in run.answers)
    texts = [item.text for item in replace(run, answers=answers).report().notices if "cut at its limit" in item.text]
    assert texts == [
        "docs: 3 answers got a context that was cut at its limit; the model was not sent all of it.",
        "docs+skill:bucket-lifecycle: 3 answers got a skill body that was cut at its limit; the model was not sent all of it.",
    ]


def test_paid_and_replayed_calls_are_told_apart_with_their_cost(report: ArmsReport) -> None:
    calls = next(fact.value for fact in report.facts if fact.label == "Answer calls")
    assert calls == "156 paid (USD 0.2184), 40 replayed (USD 0.0561 when paid for), 1 shared, 3 failed"


def test_unscored_answers_are_listed_with_reason_and_questions(report: ArmsReport) -> None:
    part = section(report, "unscored")
    assert column(part, "Reason") == ["malformed_reply", "no_answer:generation_failed", "no_answer:budget"]
    assert column(part, "First questions") == ["q0011, q0029", "q0003, q0017", "q0021"]
    assert sum(map(int, column(part, "Answers"))) == 5


def test_a_run_without_failures_has_no_unscored_section_and_no_problem() -> None:
    report = arms_run(failures=False).report()
    assert "unscored" not in [part.key for part in report.sections]
    assert report.notices == ()


def test_an_offline_reader_and_grader_are_labelled_as_such(run: ArmsRun) -> None:
    judge = run.facts.judge
    assert judge is not None
    facts = run.facts.with_changes(provider="offline", model="extractive", judge=judge.with_changes(provider="offline", model="structural"))
    report = replace(run, facts=facts).report()
    assert "not from a model" in notice(report, "Offline reader")
    assert "fixed rule" in notice(report, "Offline grader")


def test_a_truncated_run_says_why_and_how_much_is_there(run: ArmsRun) -> None:
    facts = run.facts.with_changes(truncated_reason="budget_exhausted")
    report = resummarised(run, facts=facts, answers=run.answers[:120], scores=run.scores[:120], timings=run.timings[:120]).report()
    assert report.notices[0].text.startswith("Truncated run: the budget was spent, with 120 of 200 answers there.")
    assert "not_judged" in column(section(report, "unscored"), "Reason")


def test_a_run_that_was_not_judged_has_no_points_anywhere(run: ArmsRun) -> None:
    report = resummarised(run, facts=run.facts.with_changes(judge=None), scores=()).report()
    assert notice(report, "Not judged")
    assert next(fact.value for fact in report.facts if fact.label == "Coverage") == "— (nothing was judged)"
    assert "unscored" not in [part.key for part in report.sections]
    assert {row.mean_points for row in summary_table(report)} == {"—"}
    assert report.findings == ()
    assert {answer.why for answer in report.questions[3].answers} == {None, "generation_failed: timeout: no reply within 60 s"}


def test_below_six_pairs_there_is_an_interval_but_no_verdict() -> None:
    report = arms_run(questions=4, failures=False, arms=("baseline", "docs")).report()
    row = summary_table(report)[1]
    assert row.delta_interval != "—"
    assert (row.p_adjusted, row.verdict) == ("—", "— (4 pairs, 6 needed)")
    assert column(section(report, "significance"), "p (t)") == ["—"]
    assert report.findings[0].sentence == "docs was not tested against baseline"


def test_a_delta_without_spread_is_not_called_significant(run: ArmsRun) -> None:
    flat = tuple(
        row.model_copy(update={"judgement": row.judgement.model_copy(update={"points": 50.0, "reason": None})}) for row in run.scores
    )
    report = resummarised(run, scores=flat).report()
    assert {row.verdict for row in summary_table(report)} == {"baseline", "— (N/A: no spread)"}
    assert "every pair differs by the same amount" in report.findings[0].evidence


def test_the_additive_expectation_is_the_sum_of_the_deltas_as_shown(report: ArmsReport) -> None:
    part = section(report, "interaction")
    a, b, expected = (float(column(part, label)[0]) for label in ("Delta A", "Delta B", "Additive expectation"))
    assert expected == pytest.approx(a + b, abs=1e-9)


def test_an_unknown_cost_is_a_dash_and_a_partial_one_says_so(run: ArmsRun) -> None:
    costs = column(section(run.report(), "cost"), "Cost USD")
    assert costs[3] == "—"
    one_unpriced = (run.answers[0].with_changes(cost_usd=None), *run.answers[1:])
    part = section(resummarised(run, answers=one_unpriced).report(), "cost")
    assert column(part, "Cost USD")[0].endswith("(39/40)")
    assert any(note.startswith("Partial") for note in part.notes)


def test_per_question_scores_have_sixty_characters_and_no_decimals(report: ArmsReport) -> None:
    assert max(map(len, column(report.question_scores, "Question"))) <= 60
    assert all("." not in text for text in column(report.question_scores, "docs"))
    assert column(report.question_scores, "docs")[3] == "—"


def test_a_large_set_shows_the_questions_that_moved_most_and_says_so() -> None:
    run = arms_run(questions=TABLE_QUESTIONS_LIMIT + 200, arms=("baseline", "docs"))
    report = run.report()
    assert len(report.question_scores.table.rows) == TABLE_QUESTIONS_LIMIT
    assert len(report.questions) == DRILL_DOWN_LIMIT
    assert report.questions_sentence.startswith("The 200 of 1,200 questions whose points differ most from baseline")
    deltas = run.summary.deltas["docs"].question_deltas
    shown = {question.id for question in report.questions}
    assert min(abs(deltas[one]) for one in shown) >= max(abs(delta) for one, delta in deltas.items() if one not in shown)


def test_draws_of_a_question_are_averaged_in_the_table_and_apart_in_the_drill_down() -> None:
    run = arms_run(questions=6, draws=3, arms=("baseline", "docs"), failures=False)
    report = run.report()
    question = report.questions[0]
    assert [answer.draw for answer in question.answers[:3]] == ["draw 1 of 3", "draw 2 of 3", "draw 3 of 3"]
    mean = sum(row.judgement.points or 0 for row in run.scores[:3]) / 3
    assert question.points[0].points == f"{mean:.0f}"


def test_an_answer_in_the_drill_down_says_why_it_has_no_points(report: ArmsReport) -> None:
    answer = next(answer for answer in report.questions[3].answers if answer.arm == "docs")
    assert (answer.points, answer.why) == ("—", "no_answer:generation_failed: timeout: no reply within 60 s")


def test_a_score_of_an_unknown_question_is_refused(run: ArmsRun) -> None:
    stray = run.scores[0].with_changes(question_id="q9999")
    with pytest.raises(InputError, match="q9999"):
        replace(run, scores=(*run.scores, stray)).report()


def test_the_view_survives_json(report: ArmsReport) -> None:
    assert ArmsReport.model_validate_json(report.model_dump_json()) == report


def test_summary_without_a_second_arm_has_no_deltas(run: ArmsRun) -> None:
    alone = arms_run(arms=("baseline",), questions=5)
    report = alone.report()
    assert isinstance(alone.summary, ArmSummary)
    assert report.delta_plot == ()
    assert [part.key for part in report.sections] == ["cost"]
    assert report.title == "Object Storage: baseline alone"
