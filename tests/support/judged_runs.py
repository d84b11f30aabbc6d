"""A run under several judges, by hand: points by measure, arm and question."""

from collections.abc import Mapping, Sequence

from evalplatform.comparisons.arm_summary import QuestionClusters
from evalplatform.comparisons.cross_judge_records import Measure, RunUnderJudges
from evalplatform.comparisons.refusals import Refusal

Column = Sequence[float | None]


def measure(
    name: str, points: Mapping[str, Column], *, judge: str | None = None, left_out: Sequence[Refusal] = (), stored: bool = False
) -> Measure:
    """A measure whose `points` are columns by arm, one place a question; None is an answer without points."""
    by_arm = {arm: {f"q{place}": value for place, value in enumerate(column) if value is not None} for arm, column in points.items()}
    unscored = {arm: {"malformed_reply": missing} for arm, column in points.items() if (missing := list(column).count(None))}
    return Measure(
        name=name,
        judge=judge or f"model of {name}",
        is_stored=stored,
        judge_model=judge or f"model of {name}",
        judge_provider="openai-compatible",
        judge_context="treatment_material.v1",
        points=by_arm,
        unscored_reasons=unscored,
        left_out=tuple(left_out),
    )


def shifted(deltas: Column, *, level: float = 50.0, arm: str = "docs") -> dict[str, Column]:
    """Points of a baseline at one level and of an arm that lies so much above it, question by question."""
    return {"baseline": [level] * len(deltas), arm: [None if delta is None else level + delta for delta in deltas]}


def run_under(
    *measures: Measure,
    questions: int,
    arms: Sequence[str] = ("baseline", "docs"),
    pass_points: float | None = None,
    clusters: Mapping[str, str] | None = None,
) -> RunUnderJudges:
    return RunUnderJudges(
        name="haiku",
        source="results/haiku.json",
        library_name="widgets",
        model="haiku",
        provider="anthropic",
        harness="arms-runner",
        plugin_set="none",
        arms=tuple(arms),
        baseline_arm="baseline",
        question_texts={f"q{place}": f"What does part {place} do?" for place in range(questions)},
        measures=measures,
        pass_points=pass_points,
        clusters=None if clusters is None else QuestionClusters(field="page", labels=dict(clusters)),
    )
