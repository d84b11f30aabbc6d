"""A matrix as JSON for programs: numbers as they were computed, null for what is missing; nothing is worded or rounded."""

from dataclasses import asdict

from pydantic import JsonValue

from evalplatform.comparisons.matrix_rollup import DeltaRefused, MatrixRollup, RolledCell
from evalplatform.comparisons.plugin_delta_records import CostDelta, FigureDelta, PluginDelta
from evalplatform.reports.arms_v1_wire import JsonObject
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.reports.refusal_words import refusal_sentence


def cell_values(cell: RolledCell) -> JsonObject:
    """Return a cell's coverage, its arms (points, delta from the baseline arm, cost), and what combined arms do beyond their parts."""
    summary = cell.summary
    return {
        "coverage_rate": summary.coverage_rate,
        "arms": {arm: _arm_values(cell, arm) for arm in summary.scores},
        "interactions": [found.model_dump(mode="json") for found in summary.interactions],
    }


def delta_values(delta: PluginDelta) -> JsonObject:
    """Return a plugin delta by the cells that it is between."""
    costs: JsonObject = {cost.arm: _cost_values(cost) for cost in delta.costs}
    return {
        "baseline_cell": delta.control_name,
        "plugin_cell": delta.plugin_name,
        "plugin_set": delta.plugin_set,
        "plugin_set_id": delta.plugin_set_id,
        "coverage_rate": delta.coverage_rate,
        "correction": delta.correction,
        "scores": {score.arm: score.model_dump(mode="json", exclude={"arm", "question_deltas"}) for score in delta.scores},
        "costs": costs,
        "answer_chars": {text.arm: text.model_dump(mode="json", exclude={"arm"}) for text in delta.texts},
        "warnings": [delta_warning(warning) for warning in delta.warnings],
    }


def refused_values(rollup: MatrixRollup) -> list[JsonValue]:
    """Return the pairs whose delta was refused, each with every reason as a sentence."""
    return [
        {
            "baseline_cell": warning.control,
            "plugin_cell": warning.plugin,
            "reasons": [refusal_sentence(refusal) for refusal in warning.refused.refusals],
        }
        for warning in rollup.warnings
        if isinstance(warning, DeltaRefused)
    ]


def _arm_values(cell: RolledCell, arm: str) -> JsonObject:
    delta = cell.summary.deltas.get(arm)
    return {
        **cell.summary.scores[arm].model_dump(mode="json", exclude={"arm"}),
        "delta": None if delta is None else delta.model_dump(mode="json", exclude={"arm", "question_deltas"}),
        "cost": asdict(cell.run.arms[arm].cost),
    }


def _cost_values(cost: CostDelta) -> JsonObject:
    figures = ((name, getattr(cost, name)) for name in CostDelta.model_fields)
    return {name: {**figure.model_dump(), "delta": figure.delta} for name, figure in figures if isinstance(figure, FigureDelta)}
