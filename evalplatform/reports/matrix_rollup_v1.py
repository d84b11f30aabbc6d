"""The matrix_rollup.v1 artifact, which this platform and the format's other tools write and read (treatment-arms spec, section 11).

Beyond the format there are the correction, each delta's warnings, and the refused deltas with every reason; a reader of the format passes
them over.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from evalplatform.comparisons.compared_run import ComparedRun, CostFigures
from evalplatform.comparisons.matrix_rollup import DeltaRefused, MatrixRollup, RolledCell
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.project.matrix_file import safe_name
from evalplatform.reports.arms_v1_blocks import summary_block
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.arms_v1_wire import Count, JsonObject, checked
from evalplatform.reports.matrix_words import matrix_warning
from evalplatform.reports.plugin_delta_v1 import CostBlock, ScoreBlock, TextBlock, plugin_delta_payload
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.reports.rounding import rounded_or_none
from evalplatform.stats.multiplicity import Correction

SCHEMA_VERSION = "matrix_rollup.v1"
DELTA_BLOCKS = ("plugin_set", "plugin_set_id", "score_deltas", "cost_deltas", "answer_text_deltas", "warnings")
"""What a rollup repeats of each plugin delta."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class CellBlock(_Block):
    """One cell: where `arms matrix-run` puts its arms.v1 file (the first draw's, of several), what identifies it, and its summaries.

    `summary` is over the means of all draws.
    """

    matrix_cell: str
    artifact: str
    model: str | None = None
    provider: str | None = None
    harness: str | None = None
    plugin_set: str | None = None
    plugin_set_id: str | None = None
    summary: dict[str, JsonValue] = Field(default_factory=dict)
    cost_summary: dict[str, JsonValue] = Field(default_factory=dict)


class DeltaBlock(_Block):
    """One plugin delta: where its file is, which cells it compares, and that file's numbers."""

    artifact: str
    baseline_cell: str | None = None
    plugin_cell: str | None = None
    plugin_set: str | None = None
    plugin_set_id: str | None = None
    score_deltas: dict[str, ScoreBlock] = Field(default_factory=dict)
    cost_deltas: dict[str, CostBlock] = Field(default_factory=dict)
    answer_text_deltas: dict[str, TextBlock] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class RefusedBlock(_Block):
    """A pair of cells whose delta was refused, and every reason."""

    baseline_cell: str
    plugin_cell: str
    reasons: tuple[str, ...]


class MatrixRollupFile(_Block):
    """A matrix_rollup.v1 file of any tool, as it stands. What the other tools do not write is None or empty."""

    schema_version: Literal["matrix_rollup.v1"]
    generated_at: str | None = None
    library_name: str | None
    total_cells: Count | None = None
    cells: tuple[CellBlock, ...]
    plugin_deltas: tuple[DeltaBlock, ...] = ()
    warnings: tuple[str, ...] = ()
    correction: Correction | None = None
    refused_deltas: tuple[RefusedBlock, ...] = ()


def cell_artifact(name: str, *, draws: int = 1) -> str:
    """Return where a cell's arms.v1 file lies, from the folder of the rollup; of several draws, the first."""
    return f"cells/{safe_name(name)}{'' if draws == 1 else '.d0'}.json"


def cell_page(name: str) -> str:
    """Return where a cell's page lies, from the folder of the rollup."""
    return f"cells/{safe_name(name)}.html"


def delta_stem(baseline_cell: str, plugin_cell: str) -> str:
    """Return the name of a pair's delta files without their ending; eight hex digits keep pairs apart whose names look alike as files."""
    digest = sha256(f"{baseline_cell}\0{plugin_cell}".encode()).hexdigest()[:8]
    return f"plugin-delta-{safe_name(baseline_cell)}-to-{safe_name(plugin_cell)}-{digest}"


def matrix_rollup_payload(rollup: MatrixRollup, *, generated_at: datetime) -> JsonObject:
    """Return the matrix_rollup.v1 object. Artifacts are named from the folder that the rollup lies in."""
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": generated_at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z",
        "library_name": _library_name(rollup),
        "total_cells": len(rollup.cells),
        "cells": [_cell_block(cell) for cell in rollup.cells],
        "plugin_deltas": [_delta_block(delta) for delta in rollup.deltas],
        "warnings": [matrix_warning(warning) for warning in rollup.warnings],
        "correction": rollup.correction,
        "refused_deltas": [_refused_block(warning) for warning in rollup.warnings if isinstance(warning, DeltaRefused)],
    }


def matrix_rollup_bytes(rollup: MatrixRollup, *, generated_at: datetime) -> bytes:
    """Return the artifact as a file holds it: ASCII JSON with an indent of 2."""
    return (json.dumps(matrix_rollup_payload(rollup, generated_at=generated_at), indent=2, allow_nan=False) + "\n").encode("ascii")


def read_matrix_rollup(path: str | Path) -> MatrixRollupFile:
    """Read a matrix_rollup.v1 file of this platform or of another tool. Keys that it does not know are passed over.

    Raises:
        InputError: no such file, not JSON, or a part that is not as the format requires; it names file, field and rule.
    """
    return checked(MatrixRollupFile, loaded_json(Path(path)), file=path)


def _library_name(rollup: MatrixRollup) -> str | None:
    names = {cell.run.identity.library_name for cell in rollup.cells}
    return names.pop() if len(names) == 1 else None


def _cell_block(cell: RolledCell) -> JsonObject:
    run = cell.run.identity
    return {
        "matrix_cell": cell.name,
        "artifact": cell_artifact(cell.name, draws=run.draws),
        "model": run.model,
        "provider": run.provider,
        "harness": run.harness,
        "plugin_set": run.plugin_set,
        "plugin_set_id": run.plugin_set_id,
        "summary": summary_block(cell.summary) if run.is_judged else {},
        "cost_summary": _cost_summary(cell.run),
    }


def _cost_summary(run: ComparedRun) -> JsonObject:
    return {arm: _cost_block(compared.cost) for arm, compared in run.arms.items() if compared.cost.answers}


def _cost_block(cost: CostFigures) -> JsonObject:
    return {
        "n": cost.answers,
        "total_cost_usd": rounded_or_none(cost.total_cost_usd, 6),
        "cost_known_n": cost.priced_answers,
        "prompt_tokens": cost.prompt_tokens,
        "completion_tokens": cost.completion_tokens,
        "total_tokens": cost.total_tokens,
        "mean_latency_sec": rounded_or_none(cost.mean_latency_seconds, 4),
        "mean_ttft_sec": rounded_or_none(cost.mean_time_to_first_token_seconds, 4),
    }


def _delta_block(delta: PluginDelta) -> JsonObject:
    payload: Mapping[str, JsonValue] = plugin_delta_payload(delta)
    return {
        "baseline_cell": delta.control_name,
        "plugin_cell": delta.plugin_name,
        "artifact": f"{delta_stem(delta.control_name, delta.plugin_name)}.json",
        **{name: payload[name] for name in DELTA_BLOCKS},
    }


def _refused_block(warning: DeltaRefused) -> JsonObject:
    reasons: list[JsonValue] = [refusal_sentence(refusal) for refusal in warning.refused.refusals]
    return {"baseline_cell": warning.control, "plugin_cell": warning.plugin, "reasons": reasons}
