"""How many graded runs of a scenario passed: what every exact test of a drop starts from."""

from fractions import Fraction
from typing import Self

from pydantic import Field, model_validator

from evalplatform.kernel.errors import NoGradedRunsError
from evalplatform.kernel.values import Value


class PassCount(Value):
    """Passes among graded runs. Runs that produced no verdict are in neither number."""

    passed: int = Field(ge=0)
    graded: int = Field(ge=0)

    @model_validator(mode="after")
    def _no_more_passes_than_runs(self) -> Self:
        if self.passed > self.graded:
            raise ValueError(f"{self.passed} passed of {self.graded} graded runs")
        return self

    @property
    def pass_rate(self) -> Fraction:
        """The share that passed, exact.

        Raises:
            NoGradedRunsError: no run was graded.
        """
        if self.graded == 0:
            raise NoGradedRunsError("no run was graded, so there is no pass rate.")
        return Fraction(self.passed, self.graded)


def is_drop(baseline: PassCount, candidate: PassCount) -> bool:
    """Return whether the candidate passes less often, compared exactly: 1/3 against 2/6 is no drop.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    refuse_ungraded(baseline, candidate)
    return candidate.passed * baseline.graded < baseline.passed * candidate.graded


def refuse_ungraded(baseline: PassCount, candidate: PassCount) -> None:
    """Raise NoGradedRunsError, naming the side, where a side has no graded run."""
    for side, count in (("baseline", baseline), ("candidate", candidate)):
        if count.graded == 0:
            raise NoGradedRunsError(f"no run of the {side} was graded, so there is nothing to compare.")
