"""What an arms report shows, as frozen values: everything is worded and rounded, nothing is escaped. Renderers add form alone.

Texts that users or models wrote stay as they are; each renderer escapes for its own format. The plot rows are the exception to "rounded":
they carry numbers, since a plot needs them.
"""

from evalplatform.kernel.values import Value
from evalplatform.reports.view import Fact, Finding, Notice, Section, Tone


class ResultRow(Value):
    """One arm's result in a line, for a terminal, a pull request, a notebook. Intervals are 95%."""

    arm: str
    mean_points: str
    mean_interval: str
    scored: str
    delta_points: str
    delta_interval: str
    pairs: str
    p_adjusted: str
    verdict: str
    cost_usd: str


class InteractionRow(Value):
    """What an arm that combines two others does beyond the sum of its parts, in a line. The interval is 95%."""

    arm: str
    arm_a: str
    arm_b: str
    interaction_points: str
    interaction_interval: str
    questions: str
    p_adjusted: str
    verdict: str


class ScorePlotRow(Value):
    """One arm of the plot of scores; numbers are points, `label` is what stands beside them."""

    arm: str
    baseline: bool
    mean: float | None
    lo: float | None
    hi: float | None
    label: str


class DeltaPlotRow(Value):
    """One arm of the plot of paired deltas: every question's delta, their mean and its interval, in points."""

    arm: str
    deltas: tuple[float, ...]
    mean: float | None
    lo: float | None
    hi: float | None
    significant: bool | None
    label: str


class ChunkView(Value):
    """A retrieved chunk as the record keeps it."""

    source: str
    relevance: str
    snippet: str


class AnswerView(Value):
    """One answer with its score. `why` says why there is no answer or no score; `record` holds digests, usage, cost and timing."""

    arm: str
    draw: str | None
    points: str
    tone: Tone
    why: str | None
    dimensions: tuple[Fact, ...]
    caps: tuple[str, ...]
    answer: str | None
    raw_answer: str | None
    chunks: tuple[ChunkView, ...]
    judge_reply: str | None
    record: tuple[Fact, ...]


class ArmPoints(Value):
    """One arm's score of one question, beside its question."""

    arm: str
    points: str
    delta: str | None
    tone: Tone


class QuestionView(Value):
    """One question of the drill-down with everything that was answered and judged."""

    anchor: str
    id: str
    question: str
    about: tuple[Fact, ...]
    points: tuple[ArmPoints, ...]
    answers: tuple[AnswerView, ...]


class ArmsReport(Value):
    """One cell under one judge, ready to be shown.

    `findings` are one an arm; `headline_facts` the ones to see first, `facts` all of them. `questions_sentence` says which
    questions the drill-down holds and where the rest is.
    """

    title: str
    subtitle: str
    baseline_arm: str
    headline_facts: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    findings: tuple[Finding, ...]
    results: tuple[ResultRow, ...]
    summary: Section
    score_plot: tuple[ScorePlotRow, ...]
    delta_plot: tuple[DeltaPlotRow, ...]
    sections: tuple[Section, ...]
    question_scores: Section
    questions: tuple[QuestionView, ...]
    questions_sentence: str


def summary_table(report: ArmsReport) -> list[ResultRow]:
    """Return one row an arm, in the order of the run: means and deltas each with their interval, adjusted p-value, verdict, cost."""
    return list(report.results)
