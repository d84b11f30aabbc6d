"""What the report of a comparison is given of a gate, where a gate policy decides it."""

from evalplatform.comparisons.batches.records import BaselineChoice
from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.gates.certificate import Certificate
from evalplatform.gates.records import GateDecision
from evalplatform.kernel.values import Value
from evalplatform.runs.remembered_gate import RememberedGate


class GateView(Value):
    """A decided gate, and where its baseline came from.

    Attributes:
        decision: what was decided.
        certificate: all that it rests on.
        choice: why this baseline.
        branch: the branch that was gated against; None where none was.
        gate: the remembered gate that the baseline was found by, or None.
        judge: who graded the candidate's runs.
        judge_agreement: how far its verdicts of the gated runs agree with people's labels; None where no labels were at hand.
    """

    decision: GateDecision
    certificate: Certificate
    choice: BaselineChoice
    branch: str | None = None
    gate: RememberedGate | None = None
    judge: str
    judge_agreement: VerdictAgreement | None = None
