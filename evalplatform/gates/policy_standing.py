"""Which gate policy is in force: what the platform holds, the scenario file says, or the newest batch ran under; and how they differ.

A batch keeps the policy that it ran under. The scenario file is what `evalplatform run` follows; the held policy is what the platform's own
runs follow, and what plans and readiness speak of.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import orjson
from pydantic import ValidationError

from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.gate_policy import GatePolicy, HeldPolicy
from evalplatform.runs.records import Batch, GateTier
from evalplatform.runs.remembered_gate import StoredPolicy

PolicySource = Literal["held", "file", "batch", "none"]
FIELDS = ("target_drop", "target_drop_by_tier", "max_runs_per_gate", "runs", "tier_by_tag")
"""What a scenario file's `gate` block can say; single scenarios are moved there by their own `gate_tier`."""


class PolicyDifference(NamedTuple):
    """A setting in which the scenario file, or the newest pushed batch, differs from what is in force."""

    setting: str
    in_force: object
    elsewhere: object


class PolicyStanding(NamedTuple):
    """The gate policy of a project.

    Attributes:
        policy: what is in force: held, else the scenario file's, else the newest batch's; the default where there is none at all.
        source: which of these it is.
        stored: what is held, with who set it when; None where none is.
        scenario_set: the scenario file; None where the project names none.
        newest: the newest stored batch; None without any.
        file_differs: in what the scenario file differs from the held policy; empty where none is held.
        batch_differs: in what the policy that the newest batch ran under differs from the held policy.
    """

    policy: HeldPolicy
    source: PolicySource
    stored: StoredPolicy | None
    scenario_set: ScenarioSet | None
    newest: Batch | None
    file_differs: tuple[PolicyDifference, ...] = ()
    batch_differs: tuple[PolicyDifference, ...] = ()

    def tiers(self) -> dict[str, GateTier]:
        """Return the tier of each live scenario, by id: of the scenario file, else of the newest batch."""
        moved = self.policy.tier_by_scenario
        if self.scenario_set is None:
            declared = {} if self.newest is None else self.newest.header.scenarios
            return {name: moved.get(name, planned.tier) for name, planned in declared.items() if planned.leg == "live"}
        return {
            scenario.id: moved.get(scenario.id) or scenario.gate_tier or self.policy.tier_of(scenario.tags)
            for scenario in self.scenario_set.scenarios
            if scenario.replay is None
        }

    def scenario_ids(self) -> tuple[str, ...]:
        """Return the ids of all scenarios, replays too: of the scenario file, else of the newest batch."""
        if self.scenario_set is None:
            return () if self.newest is None else tuple(self.newest.header.scenarios)
        return tuple(scenario.id for scenario in self.scenario_set.scenarios)


def policy_standing(stored: StoredPolicy | None, scenario_set: ScenarioSet | None, newest: Batch | None) -> PolicyStanding:
    """Return a project's gate policy and where it stands.

    Args:
        stored: what is held; None where none is.
        scenario_set: the scenario file; None where the project names none.
        newest: the newest stored batch; None without any.
    """
    of_file = None if scenario_set is None else scenario_set.policy
    of_batch = None if newest is None else recorded_policy(newest)
    policy, source = _in_force(stored, of_file, of_batch if scenario_set is None else None)
    return PolicyStanding(
        policy=policy,
        source=source,
        stored=stored,
        scenario_set=scenario_set,
        newest=newest,
        file_differs=() if stored is None or scenario_set is None else tuple(_differences(stored.policy, of_file, _tiers(scenario_set))),
        batch_differs=() if stored is None or newest is None else tuple(_differences(stored.policy, of_batch, _recorded_tiers(newest))),
    )


def recorded_policy(batch: Batch) -> HeldPolicy | None:
    """Return the policy that a batch ran under; None of a batch without one, and of one that this version cannot read."""
    if batch.header.policy is None:
        return None
    try:
        return HeldPolicy.model_validate_json(orjson.dumps(batch.header.policy))
    except ValidationError:
        return None


def as_held(policy: GatePolicy) -> HeldPolicy:
    """Return a scenario file's policy as one that can be held."""
    return policy if isinstance(policy, HeldPolicy) else HeldPolicy(**{name: getattr(policy, name) for name in GatePolicy.model_fields})


def _in_force(stored: StoredPolicy | None, of_file: GatePolicy | None, of_batch: HeldPolicy | None) -> tuple[HeldPolicy, PolicySource]:
    if stored is not None:
        return stored.policy, "held"
    if of_file is not None:
        return as_held(of_file), "file"
    return (HeldPolicy(), "none") if of_batch is None else (of_batch, "batch")


def _tiers(scenario_set: ScenarioSet) -> dict[str, GateTier]:
    return {scenario.id: scenario_set.tier(scenario) for scenario in scenario_set.scenarios}


def _recorded_tiers(batch: Batch) -> dict[str, GateTier]:
    return {name: planned.tier for name, planned in batch.header.scenarios.items()}


def _differences(held: HeldPolicy, other: GatePolicy | None, tiers: Mapping[str, GateTier]) -> Iterator[PolicyDifference]:
    if other is None:
        yield PolicyDifference("gate", "held", None)
        return
    for field in FIELDS:
        if getattr(held, field) != getattr(other, field):
            yield PolicyDifference(field, getattr(held, field), getattr(other, field))
    moved_there = other.tier_by_scenario if isinstance(other, HeldPolicy) else {}
    for scenario_id, tier in sorted(held.tier_by_scenario.items()):
        found = moved_there.get(scenario_id) or tiers.get(scenario_id)
        if found is not None and found != tier:
            yield PolicyDifference(f"gate_tier of {scenario_id}", tier, found)
