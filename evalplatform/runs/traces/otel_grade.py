"""The verdict that a trace of spans brings: an attribute's, that of its evaluation events, or that of a root span which failed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.records import AssertionResult, Outcome
from evalplatform.runs.traces import otel_names as names
from evalplatform.runs.traces.otel_spans import Span
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.traces.record_fields import grade_of, grade_problems, word_verdict
from evalplatform.runs.traces.trace import NO_GRADE, TraceGrade
from evalplatform.runs.trajectory import Trajectory


class GradeFound(NamedTuple):
    """A verdict, and what is wrong with how it is stated."""

    grade: TraceGrade
    problems: tuple[TraceProblem, ...] = ()


def grade_found(spans: Sequence[Span], trajectory: Trajectory) -> GradeFound:
    """Return the verdict of a trace.

    An attribute goes before the evaluation events, these before a failed root span. Of several evaluations each must have passed; their
    points are the mean, where all state a score.

    Raises:
        TraceError: a verdict is none, or a score is outside [0, 1].
    """
    stated = grade_of({"verdict": names.first_over(spans, names.VERDICT), "reward": names.first_over(spans, names.REWARD)})
    if stated != NO_GRADE:
        return GradeFound(stated, grade_problems(stated))
    evaluations = list(_evaluations(spans))
    if evaluations:
        problems = tuple(problem for _, grade in evaluations for problem in grade_problems(grade))
        return GradeFound(_joined(evaluations), problems)
    return GradeFound(_grade_of_root(spans, trajectory))


def _evaluations(spans: Sequence[Span]) -> Iterator[tuple[str, TraceGrade]]:
    """Iterate over the evaluations that say passed or failed, with their names: of a label or a score."""
    for span in spans:
        for event in span.events:
            if event.name == names.EVALUATION_EVENT:
                grade = _evaluation_grade(event.attributes)
                if grade != NO_GRADE:
                    yield str(event.attributes.get(names.EVALUATION_NAME) or "unnamed"), grade


def _evaluation_grade(attributes: Mapping[str, object]) -> TraceGrade:
    label = attributes.get(names.EVALUATION_LABEL)  # any word: most say something else than passed or failed
    is_verdict = isinstance(label, str) and word_verdict(label) is not None
    try:
        return grade_of({"verdict": label if is_verdict else None, "reward": attributes.get(names.EVALUATION_SCORE)})
    except TraceError as error:  # of the score alone: a label that is no verdict was left out
        raise error.placed(field=names.EVALUATION_SCORE) from None


def _joined(evaluations: Sequence[tuple[str, TraceGrade]]) -> TraceGrade:
    points = [grade.score_points for _, grade in evaluations if grade.score_points is not None]
    return TraceGrade(
        outcome="passed" if all(grade.outcome == "passed" for _, grade in evaluations) else "failed",
        reason="; ".join(f"evaluation {name}: {grade.reason}" for name, grade in evaluations),
        score_points=sum(points) / len(points) if len(points) == len(evaluations) else None,
        assertions=tuple(
            AssertionResult(assertion=f"evaluation {name}", state="passed" if grade.outcome == "passed" else "failed", detail=grade.reason)
            for name, grade in evaluations
        ),
    )


def _grade_of_root(spans: Sequence[Span], trajectory: Trajectory) -> TraceGrade:
    known = {span.span_id for span in spans}
    failed = next((span for span in spans if span.parent_id not in known and span.error is not None), None)
    if failed is None:
        return NO_GRADE
    outcome: Outcome = "agent_error" if trajectory.agent_acted else "harness_error"
    return TraceGrade(outcome=outcome, reason=f"{failed.name} failed: {failed.error}")
