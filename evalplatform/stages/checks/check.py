"""What a check is and what comes back from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from evalplatform.kernel.values import Value
from evalplatform.project.policy import SuiteChecks

Severity = Literal["warn", "error"]
EXAMPLES_SHOWN = 5

Evidence = TypeVar("Evidence")


class Finding(Value):
    """What a check found. `passed` is None where it could not be told, and the sentence then says why; that is never counted as passed.

    `value` and `limit` are in `unit`; a check without a limit to set has None. `examples` names the worst places, a few at most.
    """

    passed: bool | None
    sentence: str
    value: float | None = None
    unit: str | None = None
    limit: float | None = None
    examples: tuple[str, ...] = ()


class CheckResult(Value):
    """A finding under the name of its check.

    `asset` is what the check is about, `severity` what failing means: `error` where a number cannot be trusted, or where the check blocks;
    `warn` where it needs a second look. `setting` is the limit's name in the project file.
    """

    name: str
    asset: str
    severity: Severity
    blocking: bool
    setting: str | None
    finding: Finding

    @property
    def failed(self) -> bool:
        """Whether the check was made and failed."""
        return self.finding.passed is False

    @property
    def blocks(self) -> bool:
        """Whether nothing after its asset may be made."""
        return self.failed and self.blocking


@dataclass(frozen=True)
class Check(Generic[Evidence]):
    """One check.

    Attributes:
        name: its name in the project file, a field of `SuiteChecks`.
        asset: the asset it is shown at.
        severity: what failing means where it does not block.
        description: what it asks, in a sentence or two.
        find: what it found, given the evidence and the suite's settings.
        setting: the name of its limit, or None where there is none to set.
        in_report: whether a report repeats it; not where a report says the same by itself, or where no number of it is in doubt.
    """

    name: str
    asset: str
    severity: Severity
    description: str
    find: Callable[[Evidence, SuiteChecks], Finding]
    setting: str | None = None
    in_report: bool = True

    def result(self, evidence: Evidence, settings: SuiteChecks) -> CheckResult:
        """Return what the check found, with its severity and whether it blocks."""
        blocking = getattr(settings, self.name).blocking
        return CheckResult(
            name=self.name,
            asset=self.asset,
            severity="error" if blocking else self.severity,
            blocking=blocking,
            setting=self.setting,
            finding=self.find(evidence, settings),
        )


def not_told(why: str) -> Finding:
    """Return that a check could not be made, and why."""
    return Finding(passed=None, sentence=why)


def results_of(checks: Sequence[Check[Evidence]], evidence: Evidence, settings: SuiteChecks) -> tuple[CheckResult, ...]:
    """Return the result of every check, in order."""
    return tuple(check.result(evidence, settings) for check in checks)
