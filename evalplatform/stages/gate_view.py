"""A gate as its reports take it: the decision, its certificate, and where the baseline came from."""

from collections.abc import Sequence

from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.gates.certificate import certificate_of
from evalplatform.reports.gate_view import GateView
from evalplatform.runs.remembered_gate import GateStrictness
from evalplatform.stages.gate import GatedComparison
from evalplatform.stages.gate_baseline import GateBaseline


def gate_view(
    gated: GatedComparison,
    baseline: GateBaseline,
    *,
    history: Sequence[str] | None = None,
    strictness: GateStrictness | None = None,
    judge_agreement: VerdictAgreement | None = None,
) -> GateView | None:
    """Return what a report shows of a gate; None where no gate policy decides.

    Args:
        gated: the comparison with its decision.
        baseline: where the baseline came from.
        history: the ids of the batches that were pooled, newest first; None where no history was asked for.
        strictness: how strictly it was gated; None for the default.
        judge_agreement: how far the judge agrees with people; None where no labels were at hand.
    """
    if gated.decision is None:
        return None
    comparison = gated.comparison
    return GateView(
        decision=gated.decision,
        certificate=certificate_of(
            gated.decision,
            baseline=comparison.baseline,
            candidate=comparison.candidate,
            choice=baseline.choice,
            branch=baseline.branch,
            history=history,
            strictness=strictness,
        ),
        choice=baseline.choice,
        branch=baseline.branch,
        gate=baseline.gate,
        judge=comparison.candidate.header.judge,
        judge_agreement=judge_agreement,
    )
