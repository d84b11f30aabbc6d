"""Which policies one run breaches and another does not."""

from collections.abc import Iterable
from typing import NamedTuple

from evalplatform.runs.records import Run, Violation


class ViolationChange(NamedTuple):
    """Violations of the candidate's run alone, and of the baseline's alone: each policy once, by name, with the first step."""

    new: tuple[Violation, ...]
    resolved: tuple[Violation, ...]


def violation_change(baseline: Run | None, candidate: Run | None) -> ViolationChange | None:
    """Return what changed between the two compared runs.

    Where the baseline has no run, or one without steps, all that the candidate's breaches is new: nothing says that it was there before.

    A scan that was given up still found what it found: that of the candidate's run is new where the baseline's was scanned and has it not,
    and nothing is then called resolved.

    Returns:
        None where the candidate's run is missing, has no steps or was not scanned, or where the baseline's has steps and was not scanned:
        a run that was not scanned is not a run without violations, and one that could not run has resolved none.
    """
    if candidate is None or (baseline is not None and baseline.has_steps and not baseline.is_scanned):
        return None
    before = _first_by_policy(() if baseline is None else baseline.found_violations)
    after = _first_by_policy(candidate.found_violations)
    new = tuple(after[policy] for policy in sorted(after.keys() - before.keys()))
    if not candidate.is_scanned:
        return ViolationChange(new, resolved=()) if new else None
    return ViolationChange(new, resolved=tuple(before[policy] for policy in sorted(before.keys() - after.keys())))


def _first_by_policy(violations: Iterable[Violation]) -> dict[str, Violation]:
    first: dict[str, Violation] = {}
    for violation in violations:
        known = first.get(violation.policy)
        if known is None or violation.step < known.step:
            first[violation.policy] = violation
    return first
