"""The run plan of a branch's next gate, from its history and the gate policy."""

from collections.abc import Mapping
from typing import NamedTuple

from evalplatform.gates.gate_plan import GatePlan, PlanScenario, plan_gate
from evalplatform.gates.history import History
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.runs.records import GateTier
from evalplatform.stages.gate_history import read_history
from evalplatform.stages.runs_context import RunsContext


class BranchPlan(NamedTuple):
    """A plan, and the history that it rests on."""

    branch: str
    history: History
    plan: GatePlan


def branch_plan(context: RunsContext, branch: str, tiers: Mapping[str, GateTier], policy: GatePolicy) -> BranchPlan:
    """Return how often each live scenario runs in the next gate against a branch.

    Args:
        context: the agent side of the project.
        branch: the branch whose history is pooled.
        tiers: the tier of each live scenario, by id.
        policy: what is to be caught, and what may be spent.

    Raises:
        InputError: the cap is below what every scenario needs at least.
        StorageError: the history cannot be read.
    """
    history = read_history(context, branch=branch, candidate=None, scenario_ids=tuple(tiers))
    return BranchPlan(branch, history, plan_gate(plan_scenarios(history, tiers), policy))


def plan_scenarios(history: History, tiers: Mapping[str, GateTier]) -> list[PlanScenario]:
    """Return what is planned: each live scenario with its tier and its history."""
    return [PlanScenario(scenario_id=name, tier=tier, pool=history.pools.get(name)) for name, tier in tiers.items()]
