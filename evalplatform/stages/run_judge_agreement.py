"""How far the judge of compared runs agrees with people's labels of the same runs."""

from collections.abc import Iterable

from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.comparisons.run_agreement import run_agreement
from evalplatform.ports.labels import LabelStore, Verdict
from evalplatform.runs.records import Run


def judge_agreement(runs: Iterable[Run], labels: LabelStore) -> VerdictAgreement:
    """Return how far a model judge's verdicts of runs agree with people's; none where no model decided, withheld below 30 runs.

    Args:
        runs: those that are compared, of both batches.
        labels: where people's labels are.
    """
    judged: dict[str, Verdict] = {
        run.id: run.model_verdict.verdict for run in runs if run.model_verdict is not None and run.model_verdict.verdict is not None
    }
    return run_agreement(judged, labels.find("run", judged))
