"""The plugin_delta.v1 artifact, which this platform and the format's other tools write and read (treatment-arms spec, 10).

Beyond the format there are, an arm, `significance` and paired length deltas, and at the top level what the delta does not cover; a reader
of the format passes them over.
"""

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictStr, model_validator

from evalplatform.comparisons.plugin_delta_records import (
    AnswerTextDelta,
    CostDelta,
    FigureDelta,
    LengthDelta,
    PluginDelta,
    ScoreDelta,
)
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.reports.arms_v1_blocks import effect_block, verdict_block
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.arms_v1_wire import Count, JsonObject, Number, checked
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.reports.rounding import rounded, rounded_or_none
from evalplatform.stats.multiplicity import Correction

SCHEMA_VERSION = "plugin_delta.v1"
COST_KEYS = {
    "total_cost_usd": "total_cost_usd",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
    "mean_latency_seconds": "mean_latency_sec",
    "mean_time_to_first_token_seconds": "mean_ttft_sec",
}
"""The figures of a cost delta, and what the format calls them."""
COST_DECIMALS = {"mean_latency_sec": 4, "mean_ttft_sec": 4}
"""As an arms.v1 file rounds them, so that the delta of two stored runs is that of their files; all other figures have six."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class ScoreBlock(_Block):
    """One arm's points in both runs, over the `n` questions that both scored."""

    n: Count
    baseline_avg_aggregate: Number | None
    plugin_avg_aggregate: Number | None
    aggregate_delta: Number | None
    significance: dict[str, JsonValue] | None = None


class FigureBlock(_Block):
    """One figure of both runs."""

    baseline: Number | None
    plugin: Number | None
    delta: Number | None


class CostBlock(_Block):
    """What one arm's answers cost in both runs."""

    total_cost_usd: FigureBlock
    prompt_tokens: FigureBlock
    completion_tokens: FigureBlock
    total_tokens: FigureBlock
    mean_latency_sec: FigureBlock
    mean_ttft_sec: FigureBlock


class LengthBlock(_Block):
    """How long one arm's answers are in both runs, each over its own answers; `paired_delta` over the `n` questions answered in both."""

    baseline_avg: Number | None
    plugin_avg: Number | None
    delta: Number | None
    n: Count | None = None
    paired_delta: Number | None = None


class TextBlock(_Block):
    """The lengths of what the model wrote and of what the user would see."""

    raw_answer_chars: LengthBlock
    final_answer_chars: LengthBlock


class PartialCostBlock(_Block):
    """A cost that leaves out answers without a known price."""

    arm: str
    run: str
    priced_answers: Count
    answers: Count


class PluginDeltaFile(_Block):
    """A plugin_delta.v1 file of any tool, as it stands: rounded as the format says. What the other tools do not write is None or empty."""

    schema_version: Literal["plugin_delta.v1"]
    library_name: str | None = None
    model: str | None = None
    provider: str | None = None
    harness: str | None = None
    judge_model: str | None = None
    judge_provider: str | None = None
    baseline_plugin_set: str | None = None
    baseline_plugin_set_id: str | None = None
    plugin_set: str | None = None
    plugin_set_id: str | None = None
    arms: tuple[StrictStr, ...]
    baseline_arm: str | None = None
    total_questions: Count | None = None
    score_deltas: dict[str, ScoreBlock]
    cost_deltas: dict[str, CostBlock]
    answer_text_deltas: dict[str, TextBlock]
    warnings: tuple[str, ...] = ()
    baseline_run: str | None = None
    plugin_run: str | None = None
    cluster_field: str | None = None
    correction: Correction | None = None
    coverage_rate: Number | None = None
    partial_costs: tuple[PartialCostBlock, ...] = ()
    not_compared: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_its_arms(self) -> "PluginDeltaFile":
        for name in ("score_deltas", "cost_deltas", "answer_text_deltas"):
            for arm in getattr(self, name):
                if arm not in self.arms:
                    raise ValueError(str(UnknownNameError("arm", arm, self.arms, field=name)).removesuffix("."))
        return self


def plugin_delta_payload(delta: PluginDelta) -> JsonObject:
    """Return the plugin_delta.v1 object: points with four decimals, costs with six, lengths with four.

    `aggregate_delta` is the mean of paired differences, rounded once; the delta of a cost or a length is that of the two rounded figures,
    as the format's other tool has it.
    """
    control = delta.control
    return {
        "schema_version": SCHEMA_VERSION,
        "library_name": control.library_name,
        "model": control.model,
        "provider": control.provider,
        "harness": control.harness,
        "judge_model": control.judge_model if delta.is_judged else None,
        "judge_provider": control.judge_provider if delta.is_judged else None,
        "baseline_plugin_set": control.plugin_set,
        "baseline_plugin_set_id": control.plugin_set_id,
        "plugin_set": delta.plugin_set,
        "plugin_set_id": delta.plugin_set_id,
        "arms": list(control.arms),
        "baseline_arm": control.baseline_arm,
        "total_questions": control.total_questions,
        "score_deltas": {score.arm: _score_block(score, delta.correction) for score in delta.scores},
        "cost_deltas": {cost.arm: _cost_block(cost) for cost in delta.costs},
        "answer_text_deltas": {text.arm: _text_block(text) for text in delta.texts},
        "warnings": [delta_warning(warning) for warning in delta.warnings],
        "baseline_run": delta.control_name,
        "plugin_run": delta.plugin_name,
        "cluster_field": delta.cluster_field,
        "correction": delta.correction,
        "coverage_rate": rounded_or_none(delta.coverage_rate, 4),
        "partial_costs": [cost.model_dump(mode="json") for cost in delta.partial_costs],
        "not_compared": {factor: list(runs) for factor, runs in delta.not_compared.items()},
    }


def plugin_delta_bytes(delta: PluginDelta) -> bytes:
    """Return the artifact as a file holds it: ASCII JSON with an indent of 2."""
    return (json.dumps(plugin_delta_payload(delta), indent=2, allow_nan=False) + "\n").encode("ascii")


def read_plugin_delta(path: str | Path) -> PluginDeltaFile:
    """Read a plugin_delta.v1 file of this platform or of another tool. Keys that it does not know are passed over.

    Raises:
        InputError: no such file, not JSON, or a part that is not as the format requires; it names file, field and rule.
    """
    return checked(PluginDeltaFile, loaded_json(Path(path)), file=path)


def _score_block(score: ScoreDelta, correction: Correction) -> JsonObject:
    block: JsonObject = {
        "n": score.pairs,
        "baseline_avg_aggregate": rounded_or_none(score.control_mean_points, 4),
        "plugin_avg_aggregate": rounded_or_none(score.plugin_mean_points, 4),
        "aggregate_delta": rounded_or_none(score.delta_points, 4),
    }
    if score.effect is not None:
        verdict = verdict_block(score.verdict, correction=correction, family="plugin_delta")
        block["significance"] = {**effect_block(score.effect), **verdict}
    return block


def _cost_block(cost: CostDelta) -> JsonObject:
    return {key: _figure_block(getattr(cost, name), decimals=COST_DECIMALS.get(key, 6)) for name, key in COST_KEYS.items()}


def _figure_block(figure: FigureDelta, *, decimals: int) -> JsonObject:
    control, plugin = (_rounded_figure(number, decimals) for number in (figure.control, figure.plugin))
    return {"baseline": control, "plugin": plugin, "delta": None if control is None or plugin is None else rounded(plugin - control, 6)}


def _rounded_figure(number: int | float | None, decimals: int) -> int | float | None:
    return rounded(number, decimals) if isinstance(number, float) else number


def _text_block(text: AnswerTextDelta) -> JsonObject:
    return {"raw_answer_chars": _length_block(text.raw), "final_answer_chars": _length_block(text.final)}


def _length_block(length: LengthDelta) -> JsonObject:
    control, plugin = rounded_or_none(length.control_mean_chars, 4), rounded_or_none(length.plugin_mean_chars, 4)
    return {
        "baseline_avg": control,
        "plugin_avg": plugin,
        "delta": None if control is None or plugin is None else rounded(plugin - control, 4),
        "n": length.pairs,
        "paired_delta": rounded_or_none(length.paired_delta_chars, 4),
    }
