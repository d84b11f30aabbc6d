"""How far a model judge agrees with people on runs: its verdict of a run beside their labels of the same run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from evalplatform.comparisons.label_agreement import LEAST_LABELLED, latest_labels, majority, verdict_agreement
from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.ports.labels import Label, Verdict

NO_MODEL_DECIDED = "none: no model decided any verdict"


def run_agreement(judged: Mapping[str, Verdict], labels: Iterable[Label]) -> VerdictAgreement:
    """Return the agreement over the runs that both the model judge and people gave a verdict of.

    Of a run that several people labelled the verdict of most of them counts; a tie says nothing. It is withheld below 30 runs.

    Args:
        judged: the model judge's verdicts by run id, of the runs that it gave one of; empty where no model decided any.
        labels: labels of runs; those of other runs, and those on the scale of points, are passed over.
    """
    if not judged:
        return verdict_agreement([], none_reason=NO_MODEL_DECIDED)
    said: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for label in latest_labels(label for label in labels if label.subject_kind == "run" and label.subject in judged):
        if label.value == "passed" or label.value == "failed":
            said[label.subject][label.labeller] = label.value
    people = {run_id: majority(by_labeller.values()) for run_id, by_labeller in said.items()}
    pairs = [(judged[run_id], verdict) for run_id, verdict in sorted(people.items()) if verdict is not None]
    withheld = f"withheld: {len(pairs)} of {LEAST_LABELLED} labelled runs" if len(pairs) < LEAST_LABELLED else None
    return verdict_agreement(pairs, none_reason=withheld)
