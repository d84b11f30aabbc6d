"""The matrix rollup: every cell's numbers side by side, and the delta of each plugin cell from its plugin-free pair (spec, 11)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.comparability import differing_factors
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.comparisons.records import ArmSummary, ScorePoints
from evalplatform.comparisons.refusals import Refused
from evalplatform.kernel.values import Value
from evalplatform.stats.multiplicity import Correction

NO_PLUGINS = "none"
PairKey = tuple[object, ...]


class OrphanPluginCell(Value):
    """A cell with plugins that no plugin-free cell is the pair of, so that nothing says what its plugins do."""

    warning: Literal["orphan_plugin_cell"] = "orphan_plugin_cell"
    cell: str
    plugin_set: str


class SecondBaseline(Value):
    """A plugin-free cell that is nobody's baseline, since `used` stands before it and is the same cell again."""

    warning: Literal["second_baseline"] = "second_baseline"
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


MatrixWarning = CellMissing | OrphanPluginCell | SecondBaseline | DeltaRefused


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
        warnings: what to know before reading them.
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
    runs: Sequence[ComparedRun], *, correction: Correction = "holm", missing: Mapping[str, str] | None = None, with_deltas: bool = True
) -> MatrixRollup:
    """Return the rollup of a matrix's runs, one a cell, their names being the cells'.

    A plugin cell is paired with the plugin-free cell of its library, model, provider, harness, arms, baseline arm and number of questions.
    Of several, the first that can be compared is taken, so that cells that differ in sampling too find their own pair; where none can,
    the first is, and the delta is refused with its reasons.

    Args:
        runs: the cells' runs, in the matrix's order.
        correction: `holm` or `bh`.
        missing: the cells of the matrix that have no run, and why.
        with_deltas: whether cells are compared at all.
    """
    deltas: list[PluginDelta] = []
    warnings: list[MatrixWarning] = [CellMissing(cell=cell, why=why) for cell, why in (missing or {}).items()]
    for outcome in _paired_deltas(runs, correction) if with_deltas else ():
        if isinstance(outcome, PluginDelta):
            deltas.append(outcome)
        else:
            warnings.append(outcome)
    return MatrixRollup(
        cells=tuple(RolledCell(run=run, summary=_summary(run, correction)) for run in runs),
        deltas=tuple(deltas),
        warnings=tuple(warnings),
        correction=correction,
    )


def _paired_deltas(runs: Sequence[ComparedRun], correction: Correction) -> Iterator[PluginDelta | MatrixWarning]:
    plugin_free = [run for run in runs if run.identity.plugin_set == NO_PLUGINS]
    yield from _second_baselines(plugin_free)
    for run in runs:
        if run.identity.plugin_set == NO_PLUGINS:
            continue
        control = plugin_free_run(run, plugin_free)
        if control is None:
            yield OrphanPluginCell(cell=run.name, plugin_set=run.identity.plugin_set)
            continue
        outcome = plugin_delta(control, run, correction=correction)
        yield DeltaRefused(control=control.name, plugin=run.name, refused=outcome) if isinstance(outcome, Refused) else outcome


def plugin_free_run(run: ComparedRun, plugin_free: Sequence[ComparedRun]) -> ComparedRun | None:
    """Return the pair of a plugin cell's run among plugin-free ones, by the rule of `roll_up`, or None."""
    paired = [other for other in plugin_free if pair_key(other) == pair_key(run)]
    return min(paired, key=lambda other: _differences(other, run), default=None)  # the first of the least


def pair_key(run: ComparedRun) -> PairKey:
    """Return what a plugin cell and its baseline have in common (treatment-arms spec, section 11)."""
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


def _differences(baseline: ComparedRun, run: ComparedRun) -> tuple[int, bool]:
    """Count what stands against a comparison; another seed is no reason to refuse, but an equal one is the better pair."""
    return len(differing_factors("plugin_delta", (baseline, run))), baseline.identity.seed != run.identity.seed


def _second_baselines(plugin_free: Sequence[ComparedRun]) -> Iterator[SecondBaseline]:
    for position, run in enumerate(plugin_free):
        before = (other for other in plugin_free[:position] if pair_key(other) == pair_key(run) and _differences(other, run) == (0, False))
        if (used := next(before, None)) is not None:
            yield SecondBaseline(cell=run.name, used=used.name)


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
    )
