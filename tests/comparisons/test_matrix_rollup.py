"""The matrix rollup: which cells are pairs, what their deltas are, and what is said of cells that have none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.matrix_rollup import (
    CellMissing,
    DeltaRefused,
    MatrixRollup,
    OrphanPluginCell,
    SecondControl,
    roll_up,
)
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.stats.mean import plain_mean
from tests.support.plugin_cells import changed, control_run, plugin_run, unjudged

TERSE = {"plugin_set": "caveman:ultra", "plugin_set_id": "sha256:" + "2" * 32}


def named(run: ComparedRun, name: str, **factors: object) -> ComparedRun:
    return replace(changed(run, **factors), name=name)


def of_tool(run: ComparedRun, name: str, **factors: object) -> ComparedRun:
    """Return the run as another tool's file has it, without the digest of its settings."""
    return named(run, name, answering_digest=None, **factors)


def pairs(rollup: MatrixRollup) -> list[tuple[str, str]]:
    return [(delta.control_name, delta.plugin_name) for delta in rollup.deltas]


@pytest.mark.parametrize(("make", "of_large"), [(named, {"answering_digest": "sha256:large"}), (of_tool, {})], ids=["ours", "other tool's"])
def test_each_plugin_cell_is_paired_with_the_plugin_free_cell_of_its_model(
    make: Callable[..., ComparedRun], of_large: dict[str, object]
) -> None:
    runs = [
        make(control_run(), "small"),
        make(plugin_run(), "small-full"),
        make(plugin_run(), "large-full", model="large", **of_large),
        make(control_run(), "large", model="large", **of_large),
        make(plugin_run(), "small-ultra", **TERSE),
    ]
    rollup = roll_up(runs)
    assert pairs(rollup) == [("small", "small-full"), ("large", "large-full"), ("small", "small-ultra")]
    assert rollup.warnings == ()
    assert [cell.name for cell in rollup.cells] == [run.name for run in runs]


def test_a_delta_of_the_matrix_is_the_delta_of_the_two_runs_alone() -> None:
    other = named(plugin_run(), "other", model="large", answering_digest="sha256:large")
    rollup = roll_up([other, control_run(), plugin_run()], correction="bh")
    assert rollup.deltas == (plugin_delta(control_run(), plugin_run(), correction="bh"),)


@pytest.mark.parametrize(
    "factor",
    [
        {"library_name": "Queues"},
        {"model": "large"},
        {"provider": "anthropic"},
        {"harness": "agent"},
        {"arms": ("docs", "baseline", "skill:bucket-lifecycle", "docs+skill:bucket-lifecycle")},
        {"baseline_arm": "docs"},
        {"total_questions": 23},
    ],
    ids=lambda factor: next(iter(factor)),
)
def test_a_plugin_cell_without_its_plugin_free_cell_is_an_orphan(factor: dict[str, object]) -> None:
    rollup = roll_up([of_tool(control_run(), "plain", **factor), plugin_run()])
    assert rollup.deltas == ()
    assert rollup.warnings == (OrphanPluginCell(cell="caveman", plugin_set="caveman:full"),)


def test_of_two_equal_plugin_free_cells_the_first_is_the_baseline_and_the_second_is_named() -> None:
    rollup = roll_up([named(control_run(), "first"), named(control_run(), "second"), plugin_run()])
    assert pairs(rollup) == [("first", "caveman")]
    assert rollup.warnings == (SecondControl(cell="second", used="first"),)


def test_cells_that_differ_in_sampling_find_their_own_pair() -> None:
    hot = {"run_config": {"temperature": 1.0}}
    runs = [
        of_tool(control_run(), "cold"),
        of_tool(control_run(), "hot", **hot),
        of_tool(plugin_run(), "hot-full", **hot),
        of_tool(plugin_run(), "cold-full"),
    ]
    rollup = roll_up(runs)
    assert pairs(rollup) == [("hot", "hot-full"), ("cold", "cold-full")]
    assert rollup.warnings == ()


def test_the_plugin_free_cell_of_the_same_seed_is_the_better_pair() -> None:
    for make in (named, of_tool):
        runs = [make(control_run(), "other-seed", seed=8), make(control_run(), "same-seed"), plugin_run()]
        assert pairs(roll_up(runs)) == [("same-seed", "caveman")]


def test_another_seed_alone_is_a_pair_and_a_warning_of_the_delta() -> None:
    (delta,) = roll_up([named(control_run(), "other-seed", seed=8), plugin_run()]).deltas
    assert [warning.warning for warning in delta.warnings] == ["seeds_differ"]


def test_a_cell_of_other_settings_is_no_pair_however_much_else_is_equal() -> None:
    rollup = roll_up([named(control_run(), "plain", answering_digest="sha256:other"), plugin_run()])
    assert rollup.deltas == ()
    assert rollup.warnings == (OrphanPluginCell(cell="caveman", plugin_set="caveman:full"),)


def test_a_pair_of_equal_settings_that_was_not_asked_alike_is_refused_and_not_left_out() -> None:
    rollup = roll_up([named(control_run(), "plain", arms=control_run().identity.arms[::-1]), plugin_run()])
    (warning,) = rollup.warnings
    assert isinstance(warning, DeltaRefused)
    assert [refusal.reason for refusal in warning.refused.refusals] == ["arms_differ"]


def test_a_cells_intervals_and_its_deltas_are_clustered_as_its_own_report_is() -> None:
    labels = {question: f"page {place // 4}" for place, question in enumerate(control_run().identity.question_ids)}
    clustered = [replace(named(run, run.name, cluster_field="page"), clusters=labels) for run in (control_run(), plugin_run())]
    rollup = roll_up(clustered)
    cell, (delta,) = rollup.cells[0], rollup.deltas
    for effect in (cell.summary.deltas["docs"].effect, delta.scores[0].effect):
        assert effect is not None
        assert (effect.ci_method, effect.clusters, effect.p_wilcoxon) == ("cluster_t", 6, None)
    assert (cell.summary.cluster_field, delta.cluster_field) == ("page", "page")
    independent = roll_up([control_run(), plugin_run()]).deltas[0].scores[0].effect
    assert independent is not None
    assert independent.ci_method == "student_t"


def test_a_pair_that_differs_in_more_is_refused_and_kept_with_every_reason() -> None:
    rollup = roll_up([of_tool(control_run(), "hot", run_config={"temperature": 1.0}), unjudged(plugin_run())])
    (warning,) = rollup.warnings
    assert isinstance(warning, DeltaRefused)
    assert (warning.control, warning.plugin, rollup.deltas) == ("hot", "caveman", ())
    assert rollup.refused == (warning.refused,)
    assert {refusal.reason for refusal in warning.refused.refusals} == {"factor_differs", "only_some_judged"}


def test_one_refused_pair_keeps_no_other_from_being_compared() -> None:
    rollup = roll_up([control_run(), unjudged(named(plugin_run(), "unjudged", **TERSE)), plugin_run()])
    assert pairs(rollup) == [("plain", "caveman")]
    assert [refused.runs for refused in rollup.refused] == [("plain", "unjudged")]


def test_cells_without_a_run_are_named_first_and_in_no_number() -> None:
    rollup = roll_up([plugin_run()], missing={"plain": "its key is missing."})
    assert rollup.warnings[0] == CellMissing(cell="plain", why="its key is missing.")
    assert rollup.missing == (CellMissing(cell="plain", why="its key is missing."),)
    assert [cell.name for cell in rollup.cells] == ["caveman"]


def test_no_cell_is_compared_where_nobody_wants_it() -> None:
    rollup = roll_up([control_run(), plugin_run()], with_deltas=False)
    assert (rollup.deltas, rollup.warnings, len(rollup.cells)) == ((), (), 2)


def test_a_cells_means_are_over_what_each_arm_scored_and_its_deltas_are_paired() -> None:
    run = control_run()
    (cell,) = roll_up([run]).cells
    docs, baseline = run.arms["docs"].points, run.arms["baseline"].points
    assert cell.summary.scores["docs"].mean_points == pytest.approx(plain_mean(list(docs.values())))
    assert (cell.summary.scores["docs"].scored, cell.summary.scores["baseline"].scored) == (23, 24)
    delta = cell.summary.deltas["docs"]
    assert delta.pairs == 23
    assert delta.effect is not None
    assert delta.effect.delta_mean == pytest.approx(plain_mean([docs[question] - baseline[question] for question in docs]))


def test_cells_that_nobody_judged_have_no_means_and_deltas_of_costs_alone() -> None:
    rollup = roll_up([unjudged(control_run()), unjudged(plugin_run())])
    assert all(score.mean_points is None for cell in rollup.cells for score in cell.summary.scores.values())
    assert [delta.is_judged for delta in rollup.deltas] == [False]


def test_a_matrix_has_every_arm_of_its_cells_once() -> None:
    other = named(control_run(), "other", arms=("baseline", "docs"))
    assert roll_up([replace(other, arms={arm: other.arms[arm] for arm in ("baseline", "docs")}), control_run()]).arms == (
        "baseline",
        "docs",
        "skill:bucket-lifecycle",
        "docs+skill:bucket-lifecycle",
    )
