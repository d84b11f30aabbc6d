"""The structural judge: grades a run by its scenario's assertions. It is a program, makes no call, and gives the same grade every time."""

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from evalplatform.kernel.text import clip, plural
from evalplatform.kernel.values import Value
from evalplatform.runs.assertions.assertion import RunFacts, assertion_kinds
from evalplatform.runs.records import AssertionResult
from evalplatform.runs.scenario import AssertionSpec, Scenario

STRUCTURAL_JUDGE = "structural-v1"
"""The identity of this judge; raised in the commit that changes a grade it gives."""

MAX_LABEL_CHARS = 160
MAX_REASONS_NAMED = 3


class StructuralGrade(Value):
    """What the structural judge found of one run.

    Attributes:
        outcome: `passed` where every checked assertion passed, `failed` where one did not, `ungraded` where none could be checked.
        reason: why, wherever that is not `passed`.
        score_points: the share of the checked assertions that passed, 0 to 100, unrounded; None where none was checked.
        results: what each assertion found, in the scenario's order.
    """

    outcome: Literal["passed", "failed", "ungraded"]
    reason: str | None = None
    score_points: float | None = Field(default=None, ge=0, le=100)
    results: tuple[AssertionResult, ...] = ()


def grade_structurally(scenario: Scenario, facts: RunFacts) -> StructuralGrade:
    """Return the grade of a run: unchecked assertions are neither passed nor failed.

    Raises:
        UnknownNameError: an assertion is of no known kind. A loaded scenario set has been checked for that.
        ValidationError: an argument is none of its kind's, likewise.
    """
    results = tuple(_result(spec, facts) for spec in scenario.assertions)
    failed = [result for result in results if result.state == "failed"]
    checked_count = sum(result.state != "unchecked" for result in results)
    if not checked_count:
        return StructuralGrade(outcome="ungraded", reason=_ungraded_reason(results), results=results)
    return StructuralGrade(
        outcome="failed" if failed else "passed",
        reason=_failed_reason(failed, checked_count) if failed else None,
        score_points=100 * (checked_count - len(failed)) / checked_count,
        results=results,
    )


def assertion_label(spec: AssertionSpec) -> str:
    """Return an assertion on one line, as results name it: `tool_called: issue_refund`; a long argument is cut."""
    argument = spec.argument if isinstance(spec.argument, str) else json.dumps(spec.argument, ensure_ascii=False)
    return clip(" ".join(f"{spec.kind}: {argument}".split()), MAX_LABEL_CHARS)


def _result(spec: AssertionSpec, facts: RunFacts) -> AssertionResult:
    finding = assertion_kinds.get(spec.kind).finding(spec.argument, facts)
    return AssertionResult(assertion=assertion_label(spec), state=finding.state, detail=finding.detail)


def _ungraded_reason(results: Sequence[AssertionResult]) -> str:
    if not results:
        return "The scenario has no assertion, so there is nothing to grade by."
    return f"No assertion could be checked: {_named(results)}"


def _failed_reason(failed: Sequence[AssertionResult], checked_count: int) -> str:
    return f"{len(failed)} of {plural(checked_count, 'checked assertion')} failed: {_named(failed)}"


def _named(results: Sequence[AssertionResult]) -> str:
    named = "; ".join(f"{result.assertion} ({result.detail})" for result in results[:MAX_REASONS_NAMED])
    rest = len(results) - MAX_REASONS_NAMED
    return f"{named}; and {rest} more." if rest > 0 else f"{named}."
