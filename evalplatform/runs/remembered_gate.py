"""A remembered gate: which two batches were gated, how strictly, against which history, and what the platform itself made of that."""

from typing import Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.records import OneLine, UtcMoment, Verdict, Words
from evalplatform.stats.pass_counts import PassCount

GateStanding = Literal["clean", "flagged", "failed_check"]
"""What a gate came to: it passed; it failed; it could not be decided, which is neither."""


class GateStrictness(Value):
    """What a gate asks for beyond the rule: part of what is stored, so that it is recomputed as strictly."""

    require_replay_determinism: bool = False


class GateReport(Value):
    """What a client says of a gate. It says nothing of what came out: the platform computes that itself.

    Attributes:
        key: one record a gate: the same key again is the same gate.
        baseline, candidate: the ids of the two batches.
        strictness: how strictly it was gated.
        history: the ids of the batches whose runs were pooled, newest first; None where none were asked for.
        history_unreadable: whether it was asked for and could not be read, which fails a gate as unverified.
        branch: the branch that a push build gated; None of a pull request.
        baseline_branch: the branch whose last gate gave the baseline; None where the baseline was found another way.
    """

    key: OneLine
    baseline: OneLine
    candidate: OneLine
    strictness: GateStrictness = GateStrictness()
    history: tuple[OneLine, ...] | None = None
    history_unreadable: bool = False
    branch: OneLine | None = None
    baseline_branch: OneLine | None = None


class RememberedGate(Value):
    """A gate as the platform recomputed and stored it.

    Attributes:
        report: what was gated.
        standing: what it came to; `reason` says why where it could not be decided.
        received_at: when it was received, never earlier than its evidence.
        commit: of the candidate batch.
        certificate_digest: its certificate in the blob store; None where there was no decision by a gate policy.
    """

    report: GateReport
    standing: GateStanding
    reason: Words | None = None
    received_at: UtcMoment
    commit: OneLine | None = None
    certificate_digest: str | None = None


class GatedScenario(Value):
    """One scenario at a remembered gate: what `when did it change` is read from.

    Attributes:
        scenario_id: which.
        verdict: of the candidate's compared run; None where it has none.
        path_digest: of the ordered tool names of that run; None where it has no trajectory.
        candidate: passes among the candidate's graded runs.
        gates: whether it failed the gate.
    """

    scenario_id: OneLine
    verdict: Verdict | None
    path_digest: str | None
    candidate: PassCount
    gates: bool = Field(strict=True)


class StoredPolicy(Value):
    """The gate policy that the platform holds for a project, and who set it when."""

    policy: HeldPolicy
    set_by: OneLine
    set_at: UtcMoment
