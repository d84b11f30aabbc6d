"""Which pairs of a batch depend on each other: those of one question, whoever was asked it, and those of questions that a run clusters."""

from collections.abc import Hashable, Sequence

from evalplatform.comparisons.compared_run import ComparedRun


def pooled_clusters(asked: Sequence[tuple[ComparedRun, Sequence[str]]]) -> list[str] | None:
    """Return the cluster of each pair, in the order of runs and of their questions; None where every pair stands for itself.

    Questions are the same where product, id and text are: in whatever set they are asked, and whatever else is in it. What a run clusters
    belongs together in every run of the product, so two questions may be in one cluster by way of a third.
    """
    groups = _Groups()
    pairs: list[Hashable] = []
    for run, questions in asked:
        labels = (run.clusters or {}) if run.identity.cluster_field is not None else {}
        for question in questions:
            key = _question(run, question)
            pairs.append(key)
            if question in labels:
                groups.join(key, ("cluster", run.identity.library_name, run.identity.cluster_field, labels[question]))
    roots = [groups.root(pair) for pair in pairs]
    numbers = {root: str(number) for number, root in enumerate(dict.fromkeys(roots))}
    return None if len(numbers) == len(roots) else [numbers[root] for root in roots]


def _question(run: ComparedRun, question: str) -> Hashable:
    """Return what names a question across files. An id is unique in its own set only, so without a text the set counts."""
    text = run.question_texts.get(question)
    of_set = None if text is not None else (run.identity.question_texts_digest or run.name)
    return "question", run.identity.library_name, question, text, of_set


class _Groups:
    """Things that belong together, also by way of others (a union-find)."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def root(self, thing: Hashable) -> Hashable:
        """Return what stands for the group of a thing."""
        while (parent := self._parents.get(thing, thing)) != thing:
            self._parents[thing] = self._parents.get(parent, parent)
            thing = parent
        return thing

    def join(self, one: Hashable, other: Hashable) -> None:
        """Put two things into one group."""
        self._parents[self.root(one)] = self.root(other)
