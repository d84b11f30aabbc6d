"""The matrix rollup: every cell's numbers side by side, and the delta of each plugin cell from its plugin-free pair (spec, 11)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.comparability import differing_factors
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import FewPairs, PluginDelta
from evalplatform.comparisons.records import ArmSummary, ScorePoints
from evalplatform.comparisons.refusals import Refused
from evalplatform.comparisons.run_clusters import common_clusters
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.kernel.values import Value
from evalplatform.plugins.plugin_set import NO_PLUGINS_LABEL
from evalplatform.project.cells import first_of_seed
from evalplatform.stats.multiplicity import Correction

PairKey = tuple[object, ...]


class OrphanPluginCell(Value):
    """A cell with plugins that no plugin-free cell is the pair of, so that nothing says what its plugins do."""

    warning: Literal["orphan_plugin_cell"] = "orphan_plugin_cell"
    cell: str
    plugin_set: str


class SecondControl(Value):
    """A plugin-free cell that `used`, which stands before it and has its seed, makes superfluous: no delta is taken from it."""

    warning: Literal["second_control"] = "second_control"
    cell: str
    used: str


class DeltaRefused(Value):
    """A pair whose delta was refused; `refused` holds every reason."""

    warning: Literal["delta_refused"] = "delta_refused"
    control: str
    plugin: str
    refused: Refused


class CellMissing(Value):
    """A cell of the matrix that has no run, and why."""

    warning: Literal["cell_missing"] = "cell_missing"
    cell: str
    why: str


class CellFlawed(Value):
    """A cell whose run is not whole, or was scored too little to answer anything: why, in a sentence."""

    warning: Literal["cell_flawed"] = "cell_flawed"
    cell: str
    why: str


class DeltaOfFewPairs(Value):
    """A delta over too few of the questions; `few` says of which arms."""

    warning: Literal["delta_of_few_pairs"] = "delta_of_few_pairs"
    control: str
    plugin: str
    few: FewPairs


MatrixProblem = CellMissing | RunTruncated | CellFlawed | DeltaRefused | DeltaOfFewPairs
"""What leaves the matrix's question without a full answer."""

MatrixWarning = MatrixProblem | OrphanPluginCell | SecondControl


@dataclass(frozen=True)
class RolledCell:
    """One cell: its run, and the arms' means and paired deltas within it, from its points alone; costs are those that the run states."""

    run: ComparedRun
    summary: ArmSummary

    @property
    def name(self) -> str:
        """The cell's name."""
        return self.run.name


@dataclass(frozen=True)
class MatrixRollup:
    """A matrix as numbers, unrounded.

    Attributes:
        cells: those that have a run, in the matrix's order.
        deltas: of the plugin cells, in the matrix's order; `control_name` and `plugin_name` are names of cells.
        warnings: what to know before reading them; what is a `MatrixProblem` stands first.
        correction: of the verdicts; a family is the arms of one delta, or of one cell.
    """

    cells: tuple[RolledCell, ...]
    deltas: tuple[PluginDelta, ...]
    warnings: tuple[MatrixWarning, ...]
    correction: Correction

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The deltas that were refused."""
        return tuple(warning.refused for warning in self.warnings if isinstance(warning, DeltaRefused))

    @property
    def missing(self) -> tuple[CellMissing, ...]:
        """The cells without a run."""
        return tuple(warning for warning in self.warnings if isinstance(warning, CellMissing))

    @property
    def arms(self) -> tuple[str, ...]:
        """Every cell's arms, each once, in the order first met."""
        return tuple(dict.fromkeys(arm for cell in self.cells for arm in cell.run.identity.arms))


def roll_up(
    runs: Sequence[ComparedRun],
    *,
    correction: Correction = "holm",
    missing: Mapping[str, str] | None = None,
    flaws: Mapping[str, Sequence[str]] | None = None,
    with_deltas: bool = True,
) -> MatrixRollup:
    """Return the rollup of a matrix's runs, one a cell, their names being the cells'.

    A plugin cell is paired with the plugin-free cell that differs from it in its plugins alone, by the rule of
    `project.cells.plugin_free_pair`: an equal seed is the better pair, and no reason against one. Runs that do not state the digest of
    their settings are paired by library, model, provider, harness, arms, baseline arm and number of questions (treatment-arms spec, 11);
    of several, the first that differs least is taken. What else a pair differs in refuses its delta, with every reason.

    Args:
        runs: the cells' runs, in the matrix's order.
        correction: `holm` or `bh`.
        missing: the cells of the matrix that have no run, and why.
        flaws: what the runs of cells lack, a sentence each; that a run ended too early, it says itself.
        with_deltas: whether cells are compared at all.
    """
    outcomes = list(_paired_deltas(runs, correction)) if with_deltas else []
    deltas = tuple(outcome for outcome in outcomes if isinstance(outcome, PluginDelta))
    warnings: list[MatrixWarning] = [
        *(CellMissing(cell=cell, why=why) for cell, why in (missing or {}).items()),
        *(RunTruncated(run=run.name, why=run.truncated_reason) for run in runs if run.truncated_reason is not None),
        *(CellFlawed(cell=cell, why=why) for cell, of_cell in (flaws or {}).items() for why in of_cell),
        *(outcome for outcome in outcomes if not isinstance(outcome, PluginDelta)),
        *_deltas_of_few_pairs(deltas),
    ]
    return MatrixRollup(
        cells=tuple(RolledCell(run=run, summary=_summary(run, correction)) for run in runs),
        deltas=deltas,
        warnings=tuple(sorted(warnings, key=lambda warning: not isinstance(warning, MatrixProblem))),
        correction=correction,
    )


def _deltas_of_few_pairs(deltas: Sequence[PluginDelta]) -> Iterator[DeltaOfFewPairs]:
    for delta in deltas:
        for found in delta.warnings:
            if isinstance(found, FewPairs):
                yield DeltaOfFewPairs(control=delta.control_name, plugin=delta.plugin_name, few=found)


def _paired_deltas(runs: Sequence[ComparedRun], correction: Correction) -> Iterator[PluginDelta | MatrixWarning]:
    plugin_free = [run for run in runs if run.identity.plugin_set == NO_PLUGINS_LABEL]
    yield from _second_controls(plugin_free)
    for run in runs:
        if run.identity.plugin_set == NO_PLUGINS_LABEL:
            continue
        control = plugin_free_run(run, plugin_free)
        if control is None:
            yield OrphanPluginCell(cell=run.name, plugin_set=run.identity.plugin_set)
            continue
        outcome = plugin_delta(control, run, correction=correction)
        yield DeltaRefused(control=control.name, plugin=run.name, refused=outcome) if isinstance(outcome, Refused) else outcome


def plugin_free_run(run: ComparedRun, plugin_free: Sequence[ComparedRun]) -> ComparedRun | None:
    """Return the pair of a plugin cell's run among plugin-free ones, by the rule of `roll_up`, or None."""
    paired = [other for other in plugin_free if _are_pair(other, run)]
    least = min((_differences(other, run) for other in paired), default=0)
    return first_of_seed(
        (other for other in paired if _differences(other, run) == least), run.identity.seed, seed_of=lambda other: other.identity.seed
    )


def _are_pair(plain: ComparedRun, run: ComparedRun) -> bool:
    if _digests_are_known(plain, run):
        return (plain.identity.library_name, plain.identity.answering_digest) == (run.identity.library_name, run.identity.answering_digest)
    return _pair_key(plain) == _pair_key(run)


def _digests_are_known(plain: ComparedRun, run: ComparedRun) -> bool:
    return plain.identity.answering_digest is not None and run.identity.answering_digest is not None


def _pair_key(run: ComparedRun) -> PairKey:
    """Return what a plugin cell and its pair have in common, where runs do not state the digest of their settings (spec, 11)."""
    identity = run.identity
    return (
        identity.library_name,
        identity.model,
        identity.provider,
        identity.harness,
        identity.arms,
        identity.baseline_arm,
        identity.total_questions,
    )


def _differences(plain: ComparedRun, run: ComparedRun) -> int:
    """Count what stands against a comparison, where it decides which of several is the pair."""
    return 0 if _digests_are_known(plain, run) else len(differing_factors("plugin_delta", (plain, run)))


def _second_controls(plugin_free: Sequence[ComparedRun]) -> Iterator[SecondControl]:
    for position, run in enumerate(plugin_free):
        same = (other for other in plugin_free[:position] if _are_pair(other, run) and not _differences(other, run))
        used = next((other for other in same if other.identity.seed == run.identity.seed), None)
        if used is not None:
            yield SecondControl(cell=run.name, used=used.name)


def _summary(run: ComparedRun, correction: Correction) -> ArmSummary:
    points = (
        ScorePoints(question, arm, 0, points, None) for arm, compared in run.arms.items() for question, points in compared.points.items()
    )
    return summarise_arms(
        arms=run.identity.arms,
        baseline_arm=run.identity.baseline_arm,
        question_ids=run.identity.question_ids,
        answers=(),
        scores=points,
        correction=correction,
        clusters=common_clusters([run]),
    )
