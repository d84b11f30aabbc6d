"""The gate policy of a project: read from the stores and the scenario file, and changed, which the audit log keeps."""

from evalplatform.gates.policy_standing import PolicyStanding, policy_standing
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.recordings import most_complete
from evalplatform.runs.remembered_gate import StoredPolicy
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.scenario_sets import current_scenarios

ACTION = "project.gate_policy_set"


def read_policy(context: RunsContext) -> PolicyStanding:
    """Return the project's gate policy and where it stands.

    Raises:
        ScenarioFileError: the scenario file cannot be used.
        StorageError: the stores cannot be read.
    """
    scenario_set = None if context.project.scenario_file is None else current_scenarios(context)
    newest = next((batch for batch in most_complete(context.batches.batches()) if not batch.is_leg), None)
    return policy_standing(context.gates.policy(), scenario_set, newest)


def set_policy(context: RunsContext, policy: HeldPolicy, standing: PolicyStanding, *, actor: str) -> StoredPolicy:
    """Hold another policy, with both in the audit log.

    Raises:
        UnknownNameError: a scenario that it moves, or a tag that it gives a tier, is none of the project's, with the nearest one.
        InputError: nothing would change, or somebody changed the policy meanwhile.
        StorageUnavailableError: the store does not answer.
    """
    held = None if standing.stored is None else standing.stored.policy
    _refuse_unknown(policy, held or HeldPolicy(), standing)
    if held == policy:
        raise InputError("is what the platform holds already; nothing was changed.", field="gate policy")
    now = context.clock.now()
    stored = StoredPolicy(policy=policy, set_by=actor, set_at=now)
    entry = AuditEntry(
        actor=actor,
        action=ACTION,
        subject=context.project.settings.project,
        old_value=None if held is None else held.model_dump(mode="json"),
        new_value=policy.model_dump(mode="json"),
        happened_at=now,
    )
    context.gates.set_policy(stored, replaces=held, entry=entry)
    return stored


def _refuse_unknown(policy: HeldPolicy, before: HeldPolicy, standing: PolicyStanding) -> None:
    """Refuse names that are newly given a tier and that the project does not have; what was held before may name what is gone since."""
    tags = () if standing.scenario_set is None else {tag for scenario in standing.scenario_set.scenarios for tag in scenario.tags}
    for what, option, known, now, then in (
        ("scenario", "--tier", standing.scenario_ids(), policy.tier_by_scenario, before.tier_by_scenario),
        ("tag", "--tier-of-tag", tags, policy.tier_by_tag, before.tier_by_tag),
    ):
        is_known = standing.scenario_set is not None or bool(known)
        for name in now:
            if is_known and name not in known and now[name] != then.get(name):
                raise UnknownNameError(what, name, known, field=option)
