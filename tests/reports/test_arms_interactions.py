"""Synergy and interference of combined arms, in the report, its findings and on the command line."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evalplatform.cli.results import interaction_lines
from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.reports.arms_interactions import interaction_finding, interaction_rows
from evalplatform.reports.arms_v1_blocks import summary_block
from evalplatform.reports.view import Section
from tests.support.arms_fixture import ArmsRun, arms_run

ARMS = ("baseline", "docs", "skill:s", "docs+skill:s")


def run_of(points: Callable[[str, int], float], *, questions: int = 12, draws: int = 1) -> ArmsRun:
    """A run in which each arm has these points in each question."""
    run = arms_run(questions=questions, arms=ARMS, draws=draws, failures=False)
    number = {question.id: place for place, question in enumerate(run.questions.questions)}
    scores = tuple(
        score.with_changes(judgement=score.judgement.with_changes(points=points(score.arm, number[score.question_id]), reason=None))
        for score in run.scores
    )
    summary = summarise_arms(arms=ARMS, baseline_arm="baseline", question_ids=list(number), answers=run.answers, scores=scores, draws=draws)
    return replace(run, scores=scores, summary=summary)


def with_extra(extra_points: float) -> Callable[[str, int], float]:
    """Points of arms that add up but for `extra_points` of the combined one; questions differ, and vary a little."""
    lifts = {"docs": 5.0, "skill:s": 8.0, "docs+skill:s": 13.0 + extra_points}
    return lambda arm, question: 40.0 + question + lifts.get(arm, 0.0) + (question % 3 if arm == "docs+skill:s" else 0.0)


def part(run: ArmsRun) -> Section:
    return next(section for section in run.report().sections if section.key == "interaction")


def cell(section: Section, label: str) -> str:
    position = [column.label for column in section.table.columns].index(label)
    (row,) = section.table.rows
    return row[position].text


@pytest.mark.parametrize(
    ("extra_points", "verdict", "sentence"),
    [
        (6.0, "synergy", "docs+skill:s: synergy; docs and skill:s together do more than they add up to"),
        (-9.0, "interference", "docs+skill:s: interference; docs and skill:s together do less than they add up to"),
        (-1.2, "no interaction shown", "docs+skill:s: neither synergy nor interference of docs and skill:s shown"),
    ],
)
def test_a_combined_arm_is_said_to_do_more_less_or_neither_with_its_interval(extra_points: float, verdict: str, sentence: str) -> None:
    run = run_of(with_extra(extra_points))
    (item,) = run.summary.interactions
    shown = f"[{item.effect.ci_lo:+.1f}, {item.effect.ci_hi:+.1f}]"
    finding = run.report().findings[-1]
    assert finding.sentence == sentence
    assert f"points, 95% interval {shown}, 12 questions scored in all four arms; adjusted p " in finding.evidence
    section = part(run)
    assert cell(section, "Verdict") == verdict
    assert cell(section, "95% interval") == f"[{item.effect.ci_lo:+.2f}, {item.effect.ci_hi:+.2f}]"
    assert cell(section, "p (adjusted)") != "—"
    (line,) = interaction_lines(interaction_rows(run.summary))
    assert line.startswith(f"interaction docs+skill:s: {item.effect.delta_mean:+.1f} points {shown}, p adj. ")
    assert line.endswith(f", 12 questions scored in all four arms: {verdict}")
    (block,) = summary_block(run.summary)["interactions"]  # type: ignore[misc]
    assert (block["ci_lo"], block["ci_hi"]) == (pytest.approx(item.effect.ci_lo, abs=1e-4), pytest.approx(item.effect.ci_hi, abs=1e-4))


def test_an_interaction_of_too_few_questions_is_not_tested_and_says_what_is_lacking() -> None:
    run = run_of(with_extra(6.0), questions=4)
    (item,) = run.summary.interactions
    finding = interaction_finding(item)
    assert finding.sentence == "docs+skill:s was not tested for an interaction"
    assert finding.evidence.endswith("4 questions scored in all four arms; 4 pairs, 6 needed.")
    assert interaction_rows(run.summary)[0].verdict == "— (4 pairs, 6 needed)"


def test_an_interaction_without_spread_is_not_called_significant() -> None:
    (item,) = run_of(lambda arm, question: 40.0 + 9.0 * (arm == "docs+skill:s") + question).summary.interactions
    assert interaction_finding(item).evidence.endswith("the interaction is the same in every question.")


def test_a_run_without_a_combined_arm_says_nothing_of_interactions() -> None:
    run = arms_run(questions=8, arms=("baseline", "docs"))
    assert interaction_rows(run.summary) == ()
    assert not any("interaction" in finding.sentence for finding in run.report().findings)


def test_a_report_of_several_draws_says_what_they_do_to_scores_and_intervals() -> None:
    run = arms_run(questions=8, draws=3, arms=("baseline", "docs"), failures=False)
    notices = [notice.text for notice in run.report().notices]
    assert any(text.startswith("3 draws of each question: its score is their mean") for text in notices)
    assert not any(text.startswith("Scores of fewer than 3 draws") for text in notices)
    assert any("intervals are those of draws clustered by question" in note for note in run.report().summary.notes)
    assert "8, 3 draws each" in [fact.value for fact in run.report().headline_facts]
    once = arms_run(questions=8, arms=("baseline", "docs"), failures=False)
    assert not any("draws of each question" in notice.text for notice in once.report().notices)


def test_draws_without_points_are_counted_by_arm_where_their_question_is_scored_by_others() -> None:
    run = arms_run(questions=8, draws=3, arms=("baseline", "docs"), failures=False)
    lost = {("docs", 0), ("docs", 2)}
    first = run.questions.questions[0].id
    scores = tuple(
        score.with_changes(judgement=score.judgement.with_changes(points=None, reason="malformed_reply"))
        if score.question_id == first and (score.arm, score.draw) in lost
        else score
        for score in run.scores
    )
    ids = [question.id for question in run.questions.questions]
    summary = summarise_arms(
        arms=("baseline", "docs"), baseline_arm="baseline", question_ids=ids, answers=run.answers, scores=scores, draws=3
    )
    notices = [notice.text for notice in replace(run, scores=scores, summary=summary).report().notices]
    assert "Scores of fewer than 3 draws: some have no points (docs 2). These questions weigh as others do." in notices
