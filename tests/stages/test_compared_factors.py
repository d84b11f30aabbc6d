"""Change any one field of a cell or of a judge: what is stored of the runs is not compared, and neither are their files."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.comparability import refusals_among
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.matrix_rollup import roll_up
from evalplatform.comparisons.refusals import ComparisonKind
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.kernel.keys import key_with_digest
from evalplatform.ports.model_client import Sampling
from evalplatform.project.cells import Cell, JudgeCell, plugin_free_pair
from evalplatform.project.load import load_project
from evalplatform.reports.compared_run_file import compared_run_of
from evalplatform.stages import arm_summary, arms_report
from evalplatform.stages.compared_runs import stored_run
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.pipeline import run_cell
from evalplatform.wiring import OpenedProject
from tests.support.matrix_project import SUITE, write_matrix_project
from tests.support.model_stub import running_stub

SAMPLING: Mapping[str, object] = {"temperature": 0.5, "top_p": 0.25, "max_tokens": 90, "seed": 4, "extra": {"reasoning_effort": "low"}}
"""Another value of every field of a sampling."""
OF_CELL: Mapping[str, object] = {"model": "other", "provider": "openai", "base_url": None, "harness": "agent"}
"""Another value of every field of a cell's behaviour, beside its plugins and its sampling."""
OF_JUDGE: Mapping[str, object] = {
    "kind": "rubric",
    "provider": "openai",
    "model": "other",
    "base_url": None,
    "rubric": "Be strict.",
    "grounded_from_topics": True,
    "roles": ("technical_expert",),
}
"""Another value of every field of a judge's settings, beside its sampling."""
EVERY_KIND_BUT_CROSS_JUDGE: tuple[ComparisonKind, ...] = ("plugin_delta", "model_comparison", "pooled_replicates", "batch_pool")
SAME_CELL: tuple[ComparisonKind, ...] = ("plugin_delta", "pooled_replicates", "cross_judge")


@dataclass(frozen=True)
class Opened:
    """The suite with its plugin-free cell and its judge, and the runs made of it."""

    context: SuiteContext
    cell: Cell
    judge: JudgeCell
    made: dict[tuple[str, str], tuple[ComparedRun, ComparedRun]] = field(default_factory=dict)

    def runs(self, cell: Cell, judge: JudgeCell) -> tuple[ComparedRun, ComparedRun]:
        """Run the cell once, and return what is stored of it and what its arms.v1 file says."""
        if (key := (cell.key, judge.key)) not in self.made:
            self.made[key] = self._made(cell, judge)
        return self.made[key]

    def _made(self, cell: Cell, judge: JudgeCell) -> tuple[ComparedRun, ComparedRun]:
        run_cell(self.context, cell, judge)
        report = self.context.upstream(arms_report.ASSET, arm_summary.partition(cell, judge))
        data = json.loads(self.context.catalog.read(report, "arms.json"))
        name = f"{cell.id} by {judge.id}"
        return stored_run(self.context, cell, judge), compared_run_of(data, path=Path("arms.json"), name=name)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with running_stub() as stub:
        folder = write_matrix_project(tmp_path_factory.mktemp("factors"), stub.url, questions=2)
        with OpenedProject(load_project(folder / "evalplatform.yaml", environ={})) as project:
            context = project.suite_context(SUITE)
            (judge,) = context.project.judges_of(SUITE)
            yield Opened(context, context.project.cell("small-plain"), with_judge(judge, kind="panel"))


def with_cell(cell: Cell, **changes: Any) -> Cell:
    changed = cell.with_changes(id="other", **changes)
    return changed.with_changes(key=key_with_digest(changed.id, changed.behaviour))


def with_judge(judge: JudgeCell, **changes: Any) -> JudgeCell:
    settings = judge.settings.with_changes(**changes)
    made = judge_kinds.get(settings.kind)(settings, asker=None)
    changed = judge.with_changes(id="grading", settings=settings, prompt_digest=made.prompt_digest, metrics=made.metrics, roles=made.roles)
    return changed.with_changes(key=key_with_digest(changed.id, changed.behaviour))


def test_every_field_of_a_cell_and_of_a_judge_is_tried(opened: Opened) -> None:
    assert set(SAMPLING) == set(Sampling.model_fields)
    assert {*OF_CELL, "plugins", "sampling"} == set(opened.cell.behaviour)
    assert {*OF_JUDGE, "sampling"} == set(JudgeSettings.model_fields)


@pytest.mark.parametrize("changed_field", [*OF_CELL, *(f"sampling.{name}" for name in SAMPLING if name != "seed")])
def test_runs_of_cells_that_differ_in_one_field_are_never_laid_to_plugins_nor_pooled(opened: Opened, changed_field: str) -> None:
    name = changed_field.removeprefix("sampling.")
    sampled = opened.cell.sampling.with_changes(**{name: SAMPLING[name]}) if name != changed_field else opened.cell.sampling
    other = with_cell(opened.cell, **({"sampling": sampled} if name != changed_field else {name: OF_CELL[name]}))
    for one, changed in zip(opened.runs(opened.cell, opened.judge), opened.runs(other, opened.judge), strict=True):
        for kind in SAME_CELL:
            assert refusals_among(kind, [one, changed]), kind
    plugin = with_cell(other, plugins=opened.context.project.cell("small-cut").plugins)
    assert plugin_free_pair(plugin, [opened.cell]) is None


@pytest.mark.parametrize("changed_field", [*OF_JUDGE, *(f"sampling.{name}" for name in SAMPLING if name != "seed")])
def test_runs_by_judges_that_differ_in_one_field_are_never_compared(opened: Opened, changed_field: str) -> None:
    name = changed_field.removeprefix("sampling.")
    sampled = opened.judge.settings.sampling.with_changes(**{name: SAMPLING[name]}) if name != changed_field else None
    other = with_judge(opened.judge, **({"sampling": sampled} if name != changed_field else {name: OF_JUDGE[name]}))
    for one, changed in zip(opened.runs(opened.cell, opened.judge), opened.runs(opened.cell, other), strict=True):
        for kind in EVERY_KIND_BUT_CROSS_JUDGE:
            assert refusals_among(kind, [one, changed]), kind


def test_another_seed_is_no_factor_and_the_rollup_has_the_control_of_the_plugin_deltas(opened: Opened) -> None:
    seeded = with_cell(opened.cell, sampling=opened.cell.sampling.with_changes(seed=4))
    plugin = with_cell(seeded, plugins=opened.context.project.cell("small-cut").plugins)
    plain = [opened.cell, seeded.with_changes(id="seeded")]
    pair = plugin_free_pair(plugin, plain)
    assert pair is not None
    assert pair.id == "seeded"
    for place in (0, 1):
        runs = [opened.runs(cell, opened.judge)[place] for cell in (opened.cell, seeded, plugin)]
        assert refusals_among("pooled_replicates", runs[:2]) == []
        (delta,) = roll_up(runs).deltas
        assert delta.control.seed == 4
        (without,) = roll_up([runs[0], runs[2]]).deltas
        assert [warning.warning for warning in without.warnings] == ["seeds_differ"]
