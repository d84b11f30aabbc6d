"""What the gate of a branch can catch, read from its history, the gate policy and people's labels; as an artifact too."""

from collections.abc import Iterable
from typing import NamedTuple

from evalplatform.comparisons.run_agreement import run_agreement
from evalplatform.gates.policy_standing import PolicyStanding
from evalplatform.gates.readiness import Readiness, gate_readiness
from evalplatform.ports.labels import LabelStore, Verdict
from evalplatform.stages.gate_history import read_history
from evalplatform.stages.gate_plan import plan_scenarios
from evalplatform.stages.gate_policies import read_policy
from evalplatform.stages.runs_context import RunsContext


class BranchReadiness(NamedTuple):
    """What the gate of a branch can catch, and the policy that it is spoken of under.

    `batches` are those that the history was read from, newest first.
    """

    branch: str
    standing: PolicyStanding
    readiness: Readiness
    batches: tuple[str, ...]


def read_readiness(context: RunsContext, labels: LabelStore, *, branch: str) -> BranchReadiness:
    """Return what the gate of a branch can catch.

    Args:
        context: the agent side of the project.
        labels: where people's labels of runs are.
        branch: whose remembered gates hold the history.

    Raises:
        InputError: the scenario file cannot be used, or the policy's cap is below what every scenario needs.
        StorageError: the history cannot be read.
    """
    standing = read_policy(context)
    tiers = standing.tiers()
    history = read_history(context, branch=branch, candidate=None, scenario_ids=tuple(tiers))
    judged = model_verdicts(context, history.batches)
    agreement = run_agreement(judged, labels.find("run", judged))
    readiness = gate_readiness(plan_scenarios(history, tiers), standing.policy, agreement=agreement)
    return BranchReadiness(branch, standing, readiness, history.batches)


def model_verdicts(context: RunsContext, batch_ids: Iterable[str]) -> dict[str, Verdict]:
    """Return the model judge's verdict of every run of these batches that it gave one of, by run id."""
    return {
        run.id: run.model_verdict.verdict
        for batch_id in batch_ids
        for run in context.batches.runs(batch_id)
        if run.model_verdict is not None and run.model_verdict.verdict is not None
    }
