"""What a suite calls good enough: the points that an answer passes at, and the limits of its checks.

Pure settings: a policy changes no answer and no score, so verdicts and checks are computed again from what is stored.
"""

from pydantic import Field

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.values import Value

LEAST_COVERAGE_RATE = 0.95
"""Under this share of questions scored in both arms a comparison could not be answered (treatment-arms spec, 15 and 16)."""


class CheckSettings(Value):
    """What every check has. A check that fails is shown; one that blocks stops the stages after it, for the partition that it failed on."""

    blocking: bool = Field(default=False, strict=True, description="Whether failing stops the stages after it.")


class CoverageCheck(CheckSettings):
    """How much was scored in both arms of every comparison."""

    least_scored_rate: float = Field(
        default=LEAST_COVERAGE_RATE, strict=True, ge=0, le=1, description="Least share of questions scored in both arms."
    )


class EmptyRetrievalCheck(CheckSettings):
    """How often an arm that retrieves brought nothing, so that it asked as an arm without documents does."""

    most_empty_rate: float = Field(default=0.25, strict=True, ge=0, le=1, description="Most rows of a retrieving arm without a chunk.")


class UnpricedCheck(CheckSettings):
    """How many calls were paid for at a price that nobody knows, so that no spend cap counted them."""

    most_unpriced_rate: float = Field(default=0.0, strict=True, ge=0, le=1, description="Most paid calls without a known price.")


class ConstantScoresCheck(CheckSettings):
    """Whether a judge told an arm's answers apart at all."""

    least_distinct_points: int = Field(default=2, strict=True, ge=2, description="Fewest different points among an arm's questions.")


class SuiteChecks(Value):
    """The checks of a suite, each with its limit and whether it blocks. None blocks unless the project file says so."""

    coverage: CoverageCheck = CoverageCheck()
    empty_retrieval: EmptyRetrievalCheck = EmptyRetrievalCheck()
    self_judging: CheckSettings = CheckSettings()
    stale_prompts: CheckSettings = CheckSettings()
    unpriced: UnpricedCheck = UnpricedCheck()
    all_cached: CheckSettings = CheckSettings()
    constant_scores: ConstantScoresCheck = ConstantScoresCheck()
    equal_arms: CheckSettings = CheckSettings()


class Policy(Value):
    """A suite's threshold and checks with every default filled in. `pass_points` is None where the suite gives no verdicts."""

    pass_points: float | None
    checks: SuiteChecks

    @property
    def digest(self) -> str:
        """The digest of the policy: two files that come to the same limits have one, however much of them they write down."""
        return json_digest(self.model_dump())

    @property
    def key(self) -> str:
        """`p-` and 12 hex digits of the digest: the last part of the partition that keeps this policy's verdicts."""
        return f"p-{self.digest.removeprefix('sha256:')[:12]}"
