"""The arms report as a view model: what one cell under one judge found, worded once for every format."""

from collections.abc import Sequence

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.panel_spread import panel_spreads
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.comparisons.records import ArmDelta, ArmSummary, JudgedScore
from evalplatform.comparisons.verdicts import ArmVerdicts
from evalplatform.kernel.text import plural
from evalplatform.questions.records import QuestionSet
from evalplatform.reports import arms_interactions, arms_notices, arms_panel, arms_questions, arms_retrieval, arms_sections, words
from evalplatform.reports.arms_rows import RunRows
from evalplatform.reports.arms_view import ArmsReport, DeltaPlotRow, ScorePlotRow
from evalplatform.reports.run_facts import RunFacts
from evalplatform.reports.verdicts import verdict_section
from evalplatform.reports.view import Finding, Section


def build_arms_report(
    facts: RunFacts,
    *,
    questions: QuestionSet,
    answers: Sequence[ArmAnswer],
    scores: Sequence[JudgedScore],
    timings: Sequence[CallTiming],
    summary: ArmSummary,
    verdicts: ArmVerdicts | None = None,
) -> ArmsReport:
    """Return everything that a reader of this run is shown.

    Numbers come from `summary`; this words and rounds them. The drill-down holds at most 200 questions and the table of scores 1,000, those
    that moved most from the baseline arm, so that a report of a large set stays small; both say so.

    Args:
        facts: what was run, with what, and who judged.
        questions: the set, in its order.
        answers: every answer there is; a place without one counts as not asked.
        scores: every judgement there is; empty for a run that was not judged.
        timings: how long the calls took, replayed or paid.
        summary: the statistics of the same answers and scores.
        verdicts: pass rates of the same scores, where the suite has a threshold.

    Raises:
        InputError: a score that belongs to no arm, question or draw of the run, or two for one place.
    """
    rows = RunRows(answers, scores, timings)
    all_questions = questions.questions
    ids = [question.id for question in all_questions]
    by_arm = question_scores(scores, arms=summary.arms, question_ids=ids, draws=summary.draws)
    evidence = arms_questions.Evidence(summary, rows, {arm: table.points for arm, table in by_arm.items()})
    views = arms_questions.question_views(all_questions, evidence)
    sections = (
        None if verdicts is None else verdict_section(verdicts),
        *_statistics(summary),
        arms_panel.panel_section(panel_spreads(scores, arms=summary.arms)),
        arms_sections.cost_section(summary, rows),
        # Where nobody judged, every answer is unscored, and the notice says so; a list of all of them would tell nothing more.
        arms_sections.unscored_section(summary, rows, ids) if facts.judge is not None else None,
    )
    return ArmsReport(
        title=f"{facts.library_name}: {arms_sections.against(summary, 'against')}",
        subtitle=f"{facts.project} / {facts.suite}, {facts.generated_at:%d %B %Y %H:%M} UTC, cell {facts.cell_key}",
        baseline_arm=summary.baseline_arm,
        headline_facts=arms_notices.headline_facts(facts, questions, summary),
        facts=arms_notices.all_facts(facts, questions, summary),
        notices=arms_notices.notices(facts, questions, summary, rows),
        findings=_findings(summary) if facts.judge is not None else (),
        results=arms_sections.result_rows(summary),
        summary=arms_sections.summary_section(summary),
        score_plot=_score_plot(summary),
        delta_plot=_delta_plot(summary),
        sections=tuple(section for section in sections if section is not None),
        question_scores=arms_questions.scores_section(all_questions, evidence),
        questions=views,
        questions_sentence=arms_questions.shown_sentence(
            len(all_questions), len(views), f"whose points differ most from {summary.baseline_arm}"
        ),
    )


def _statistics(summary: ArmSummary) -> tuple[Section | None, ...]:
    return (
        arms_sections.significance_section(summary),
        arms_interactions.interaction_section(summary),
        arms_retrieval.retrieval_section(summary),
    )


def _findings(summary: ArmSummary) -> tuple[Finding, ...]:
    of_arms = [finding(delta) for delta in summary.deltas.values()]
    return (*of_arms, *(arms_interactions.interaction_finding(item) for item in summary.interactions))


def finding(delta: ArmDelta) -> Finding:
    """Return what was found about one arm, with its interval and its p-values."""
    effect, baseline = delta.effect, delta.baseline_arm
    if effect is None:
        scored = f"{plural(delta.pairs, 'question')} scored in both arms; two are needed."
        return Finding(sentence=f"{delta.arm} cannot be compared with {baseline}", evidence=scored, tone="muted")
    shown = words.interval(effect.ci_lo, effect.ci_hi, signed=True)
    size = f"{words.points(effect.delta_mean, signed=True)} points, 95% interval {shown}, {plural(effect.n, 'pair')}"
    if delta.significant_adjusted is None:
        why = arms_sections.lack_of_a_test(effect) or "every pair differs by the same amount"
        return Finding(sentence=f"{delta.arm} was not tested against {baseline}", evidence=f"{size}; {why}.", tone="muted")
    evidence = f"{size}; adjusted p {words.p_value(delta.p_adjusted)}, Wilcoxon p {words.p_value(effect.p_wilcoxon)}."
    if not delta.significant_adjusted:
        why = ", since the tests disagree" if arms_sections.tests_disagree(delta) else ""
        return Finding(sentence=f"{delta.arm}: no difference from {baseline} shown{why}", evidence=evidence, tone="muted")
    sentence = f"{delta.arm} scores {words.direction(True, effect.delta_mean)} than {baseline}"
    return Finding(sentence=sentence, evidence=evidence, tone=arms_sections.tone_of(True, effect.delta_mean))


def _score_plot(summary: ArmSummary) -> tuple[ScorePlotRow, ...]:
    rows = []
    for arm in summary.arms:
        score = summary.scores[arm]
        label = f"{words.points(score.mean_points)} {words.interval(score.ci_lo_points, score.ci_hi_points)}"
        rows.append(
            ScorePlotRow(
                arm=arm,
                baseline=arm == summary.baseline_arm,
                mean=score.mean_points,
                lo=score.ci_lo_points,
                hi=score.ci_hi_points,
                label=words.MISSING if score.mean_points is None else label,
            )
        )
    return tuple(rows)


def _delta_plot(summary: ArmSummary) -> tuple[DeltaPlotRow, ...]:
    rows = []
    for delta in summary.deltas.values():
        effect = delta.effect
        interval = "" if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True)
        rows.append(
            DeltaPlotRow(
                arm=delta.arm,
                deltas=tuple(sorted(delta.question_deltas.values())),
                mean=None if effect is None else effect.delta_mean,
                lo=None if effect is None else effect.ci_lo,
                hi=None if effect is None else effect.ci_hi,
                significant=delta.significant_adjusted,
                label=words.MISSING if effect is None else f"{words.points(effect.delta_mean, signed=True)} {interval}",
            )
        )
    return tuple(rows)
