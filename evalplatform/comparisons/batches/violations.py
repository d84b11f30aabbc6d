"""Which policies one run breaches and another does not."""

from collections.abc import Iterable
from typing import NamedTuple

from evalplatform.runs.records import Run, Violation


class ViolationChange(NamedTuple):
    """Violations of the candidate's run alone, and of the baseline's alone: each policy once, by name, with the first step."""

    new: tuple[Violation, ...]
    resolved: tuple[Violation, ...]


def violation_change(baseline: Run, candidate: Run) -> ViolationChange | None:
    """Return what changed between two runs; None unless both were scanned and have steps.

    A run that was not scanned is not a run without violations, and one that could not run has resolved none.
    """
    if baseline.violations is None or candidate.violations is None:
        return None
    if baseline.trajectory_digest is None or candidate.trajectory_digest is None:
        return None
    before, after = _first_by_policy(baseline.violations), _first_by_policy(candidate.violations)
    return ViolationChange(
        new=tuple(after[policy] for policy in sorted(after.keys() - before.keys())),
        resolved=tuple(before[policy] for policy in sorted(before.keys() - after.keys())),
    )


def _first_by_policy(violations: Iterable[Violation]) -> dict[str, Violation]:
    first: dict[str, Violation] = {}
    for violation in violations:
        known = first.get(violation.policy)
        if known is None or violation.step < known.step:
            first[violation.policy] = violation
    return first
