"""The gate policy: the `gate` block of a scenario file, as a typed value."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.records import MAX_RUNS_PER_SCENARIO, GateTier, OneLine

TargetDrop = Annotated[int, Field(strict=True, ge=5, le=95, description="A fall in pass rate, in points.")]


class GatePolicy(Value):
    """What a gate should catch, and what it may spend on that.

    Attributes:
        target_drop: the smallest fall in pass rate, in points, that the gate should catch at least 8 times in 10.
        target_drop_by_tier: another target for the scenarios of a tier.
        max_runs_per_gate: the most runs that one gate plans.
        runs: how often a live scenario runs that has too little history to plan by.
        tier_by_tag: the tier of the scenarios that carry a tag.
    """

    target_drop: TargetDrop = 50
    target_drop_by_tier: dict[GateTier, TargetDrop] = Field(default_factory=dict)
    max_runs_per_gate: int = Field(default=600, strict=True, ge=1, description="The most runs that one gate plans.")
    runs: int = Field(
        default=10, strict=True, ge=1, le=MAX_RUNS_PER_SCENARIO, description="Runs of a live scenario without enough history to plan by."
    )
    tier_by_tag: dict[OneLine, GateTier] = Field(default_factory=dict, description="The tier of the scenarios that carry a tag.")

    def target_drop_of(self, tier: GateTier) -> int:
        """Return the target of a tier, in points."""
        return self.target_drop_by_tier.get(tier, self.target_drop)

    def tier_of(self, tags: Iterable[str]) -> GateTier:
        """Return the tier that tags give: critical where one of them does, else standard."""
        return "critical" if any(self.tier_by_tag.get(tag) == "critical" for tag in tags) else "standard"


class HeldPolicy(GatePolicy):
    """A gate policy as the platform holds it: it moves single scenarios between tiers too, which a scenario file says beside them.

    Attributes:
        tier_by_scenario: the tier of a scenario, by id; it goes before what the scenario file says.
    """

    tier_by_scenario: dict[OneLine, GateTier] = Field(default_factory=dict, description="The tier of single scenarios, by id.")
