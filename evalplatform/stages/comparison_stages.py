"""The stages that compare cells of a suite, in order: the one place that lists them, as `score_stages` does for what comes before.

None of them asks a model: they are computed from stored answers, scores and summaries.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from evalplatform.project.cells import Cell, JudgeCell, paired_plugin_cells, plugin_free_pair
from evalplatform.project.load import Project
from evalplatform.stages import arm_summary, matrix_rollup, model_comparison, plugin_deltas
from evalplatform.stages.context import StageResult, SuiteContext

READS: tuple[ModuleType, ...] = (arm_summary,)
"""What a comparison is drawn as made from. Its lineage names the answers and scores beside each summary, which are of the same versions."""


@dataclass(frozen=True)
class Comparison:
    """One partition of a comparison stage.

    `cell` is the plugin cell that it is about, None where it is about many; `compared` are all cells that it reads.
    """

    stage: "ComparisonStage"
    cell: Cell | None
    judge: JudgeCell
    compared: tuple[Cell, ...]

    @property
    def partition(self) -> str:
        """The artifact's partition."""
        return self.judge.key if self.cell is None else plugin_deltas.partition(self.cell, self.judge)


@dataclass(frozen=True)
class ComparisonStage:
    """One stage over cells of a suite.

    Attributes:
        module: the stage; `ASSET` and `CODE_VERSION` are its own.
        kinds: what Dagster shows of its technology.
        description: what Dagster says of it.
        of_plugin_cells: whether its partitions are plugin cells under a judge; those of the other stages are judges.
        compared: the cells that it reads: of one plugin cell, or of all; none where it has nothing to compare.
        materialize: makes the artifact of one partition; the cell is None but for a stage of plugin cells.
    """

    module: ModuleType
    kinds: frozenset[str]
    description: str
    of_plugin_cells: bool
    compared: Callable[[Sequence[Cell], Cell | None], Sequence[Cell]]
    materialize: Callable[[SuiteContext, Cell | None, JudgeCell], StageResult]

    @property
    def asset(self) -> str:
        """The name of its asset."""
        return str(self.module.ASSET)

    @property
    def code_version(self) -> str:
        """The version of its code, raised by hand in the change that alters numbers."""
        return str(self.module.CODE_VERSION)

    def is_wanted(self, cells: Sequence[Cell]) -> bool:
        """Say whether a suite of these cells has anything for it to compare.

        Dagster has no asset of a stage that is not wanted, as with verdicts. Cells can come and go without a reload of the code location;
        the first plugin cell with its pair, or the second cell to compare, needs one.
        """
        return bool(paired_plugin_cells(cells)) if self.of_plugin_cells else bool(self.compared(cells, None))


def _pair(cells: Sequence[Cell], cell: Cell | None) -> Sequence[Cell]:
    pair = None if cell is None else plugin_free_pair(cell, cells)
    return () if cell is None or pair is None else (pair, cell)


def _plugin_deltas(context: SuiteContext, cell: Cell | None, judge: JudgeCell) -> StageResult:
    assert cell is not None  # its partitions have one
    return plugin_deltas.materialize_plugin_deltas(context, cell, judge)


COMPARISON_STAGES = (
    ComparisonStage(
        module=plugin_deltas,
        kinds=frozenset({"python", "html"}),
        description="What a cell's plugins do to its scores, its costs and its answers' length, against the same cell without plugins. "
        "Computed from stored scores: asks nothing.\n\nA partition is a cell with plugins under a judge. Dagster maps it to the same cell; "
        "the plugin-free pair that is read beside it stands in `input_digests`.",
        of_plugin_cells=True,
        compared=_pair,
        materialize=_plugin_deltas,
    ),
    ComparisonStage(
        module=matrix_rollup,
        kinds=frozenset({"python", "html"}),
        description="All cells of the suite beside each other, with the delta of every plugin cell. Asks nothing.\n\nA partition is a "
        "judge; cells that it has not scored are named.",
        of_plugin_cells=False,
        compared=lambda cells, _: matrix_rollup.compared_cells(cells),
        materialize=lambda context, _, judge: matrix_rollup.materialize_matrix_rollup(context, judge),
    ),
    ComparisonStage(
        module=model_comparison,
        kinds=frozenset({"python", "html"}),
        description="The suite's cells without plugins beside each other, ranked on each treatment arm. Asks nothing.\n\nA partition is "
        "a judge; cells that it has not scored are named.",
        of_plugin_cells=False,
        compared=lambda cells, _: model_comparison.compared_cells(cells),
        materialize=lambda context, _, judge: model_comparison.materialize_model_comparison(context, judge),
    ),
)


COMPARISON_ASSETS = frozenset(stage.asset for stage in COMPARISON_STAGES)


def wanted_comparisons(cells: Sequence[Cell]) -> tuple[ComparisonStage, ...]:
    """Return the comparison stages that a suite of these cells has something for."""
    return tuple(stage for stage in COMPARISON_STAGES if stage.is_wanted(cells))


def project_comparisons(project: Project) -> tuple[str, ...]:
    """Return the assets that compare cells in any suite of a project, as `SUITE/ASSET`."""
    suites = project.settings.suites
    return tuple(f"{suite_id}/{stage.asset}" for suite_id in suites for stage in wanted_comparisons(project.cells_of(suite_id)))


def suite_comparisons(context: SuiteContext) -> Iterator[Comparison]:
    """Iterate over every partition of the suite's comparisons, in the order in which they are made: judge by judge."""
    return comparisons_of(context.project, context.suite_id)


def comparisons_of(project: Project, suite_id: str) -> Iterator[Comparison]:
    """Iterate over every partition of the comparisons of a project's suite, as `suite_comparisons` does of an opened one."""
    cells = project.cells_of(suite_id)
    for judge in project.judges_of(suite_id):
        for stage in wanted_comparisons(cells):
            of_cells: Sequence[Cell | None] = paired_plugin_cells(cells) if stage.of_plugin_cells else (None,)
            for cell in of_cells:
                yield Comparison(stage=stage, cell=cell, judge=judge, compared=tuple(stage.compared(cells, cell)))
