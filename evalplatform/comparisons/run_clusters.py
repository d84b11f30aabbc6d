"""Which questions of compared runs depend on each other, as the runs themselves say it."""

from collections.abc import Iterable, Sequence

from evalplatform.comparisons.arm_summary import QuestionClusters
from evalplatform.comparisons.compared_run import ComparedRun


def common_clusters(runs: Sequence[ComparedRun]) -> QuestionClusters | None:
    """Return the clusters of the runs' questions, or None where no run clusters its own.

    They are those of the first run that states a label of a question. A question that no run has a label of is a cluster by itself.
    """
    stating = [run for run in runs if run.identity.cluster_field is not None and run.clusters is not None]
    if not stating:
        return None
    labels = {question: question for run in runs for question in run.identity.question_ids}
    for run in reversed(stating):
        labels.update(run.clusters or {})
    return QuestionClusters(field=stating[0].identity.cluster_field or "", labels=labels)


def labels_of(clusters: QuestionClusters | None, questions: Iterable[str]) -> list[str] | None:
    """Return the cluster of each question, in their order, as `paired_effect` takes them; None where questions are independent."""
    return None if clusters is None else [clusters.labels[question] for question in questions]
