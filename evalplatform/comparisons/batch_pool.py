"""The deltas of a batch: each file's own, and one over all questions of the batch where its runs can be pooled.

Pooling weighs every question alike; the mean of the files' means weighs every file alike. With sets of different sizes the two differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalplatform.comparisons.batch_clusters import pooled_clusters
from evalplatform.comparisons.comparability import factor_refusals, refusals_among
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.refusals import Refusal, Refused, SameRun
from evalplatform.comparisons.run_clusters import common_clusters, labels_of
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import plain_mean
from evalplatform.stats.paired import PairedEffect, paired_effect

ROUNDING_POINTS = 0.1
"""How far a stated delta may lie from the paired one by rounding alone: it is the difference of two averages of one decimal each."""


@dataclass(frozen=True)
class PairedArms:
    """A run, its treatment arm, and the delta that its file states for that arm, in points."""

    run: ComparedRun
    treatment_arm: str
    stated_delta_points: float | None

    @property
    def differences_points(self) -> dict[str, float]:
        """Treatment minus baseline by question, over the questions that both scored."""
        baseline, treatment = self.run.arms[self.run.identity.baseline_arm].points, self.run.arms[self.treatment_arm].points
        return {question: treatment[question] - points for question, points in baseline.items() if question in treatment}


class CellDelta(Value):
    """One file's delta over the questions that both its arms scored. `effect` is None for a single pair.

    `baseline_scored` and `treatment_scored` say how many questions each arm has points for, with or without the other.
    """

    treatment_arm: str
    model: str | None
    questions: int
    baseline_scored: int
    treatment_scored: int
    pairs: int
    mean_points: float
    effect: PairedEffect | None
    stated_points: float | None

    @property
    def stated_differs(self) -> bool:
        """Whether the file's own delta is another number than the paired one, by more than rounding explains."""
        return self.stated_points is not None and abs(self.stated_points - self.mean_points) > ROUNDING_POINTS + 1e-9


class PooledDelta(Value):
    """The delta over every question of the batch. `effect` is None for a single pair.

    `mean_of_file_means_points` weighs files instead of questions. Where a question was asked in several files, or a run clusters its
    questions, `effect` allows for that: its clusters are the questions, or the clusters that they lie in.
    """

    files: int
    pairs: int
    mean_points: float
    mean_of_file_means_points: float
    effect: PairedEffect | None


def cell_delta(arms: PairedArms) -> CellDelta | None:
    """Return one file's delta, or None where no question was scored in both arms."""
    run, differences = arms.run, list(arms.differences_points.values())
    if not differences:
        return None
    return CellDelta(
        treatment_arm=arms.treatment_arm,
        model=run.identity.model,
        questions=run.identity.total_questions,
        baseline_scored=len(run.arms[run.identity.baseline_arm].points),
        treatment_scored=len(run.arms[arms.treatment_arm].points),
        pairs=len(differences),
        mean_points=plain_mean(differences),
        effect=_effect(differences, labels_of(common_clusters([run]), arms.differences_points), run.name),
        stated_points=arms.stated_delta_points,
    )


def pool(cells: Sequence[PairedArms]) -> PooledDelta | Refused | None:
    """Return the delta over the questions of all runs, or why they are not pooled.

    Runs may differ in model, product, questions and treatment; not in the judge, in what it was shown, in plugins, in draws, or in the
    content behind one arm's name, that of the baseline too. Sampling may differ between models, since not every model takes every setting,
    and not between runs of one model. Runs that are one run, such as a file and its copy, are refused as well: each pair would count twice.

    Args:
        cells: runs that have points for at least one question in both arms; without any there is None.
    """
    if not cells:
        return None
    runs = [cell.run for cell in cells]
    arms = {arm for cell in cells for arm in (cell.run.identity.baseline_arm, cell.treatment_arm)}
    refusals = [*_repeated(runs), *refusals_among("batch_pool", runs, arms=arms), *_samplings_of_one_model(runs)]
    if refusals:
        return Refused(comparison="batch_pool", runs=tuple(run.name for run in runs), refusals=tuple(refusals))
    by_run = [cell.differences_points for cell in cells]
    differences = [difference for of_run in by_run for difference in of_run.values()]
    return PooledDelta(
        files=len(cells),
        pairs=len(differences),
        mean_points=plain_mean(differences),
        mean_of_file_means_points=plain_mean([plain_mean(list(of_run.values())) for of_run in by_run]),
        effect=_effect(differences, pooled_clusters([(run, list(of_run)) for run, of_run in zip(runs, by_run, strict=True)]), "pooled"),
    )


def _repeated(runs: Sequence[ComparedRun]) -> list[SameRun]:
    """Return the runs that are one by all that they say: draws of a model that always answers alike still differ in their times."""
    alike: list[list[ComparedRun]] = []
    for run in runs:
        of_same = next((members for members in alike if (members[0].identity, members[0].arms) == (run.identity, run.arms)), None)
        if of_same is None:
            alike.append([run])
        else:
            of_same.append(run)
    return [SameRun(runs=tuple(run.name for run in members)) for members in alike if len(members) > 1]


def _samplings_of_one_model(runs: Sequence[ComparedRun]) -> Iterator[Refusal]:
    by_model: dict[str | None, list[ComparedRun]] = {}
    for run in runs:
        by_model.setdefault(run.identity.model, []).append(run)
    for of_model in by_model.values():
        yield from factor_refusals("run_config", of_model)


def _effect(differences: Sequence[float], clusters: Sequence[str] | None, label: str) -> PairedEffect | None:
    if len(differences) < 2:
        return None
    from numpy.random import default_rng

    return paired_effect(differences, clusters=clusters, rng=default_rng(derived_seed("batch check", label)))
