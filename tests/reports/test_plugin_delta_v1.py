"""plugin_delta.v1: rounded as the format says, read both ways, and refused by file and field where it is not as it should be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.kernel.errors import InputError
from evalplatform.reports.plugin_delta_v1 import plugin_delta_bytes, plugin_delta_payload, read_plugin_delta
from tests.support.plugin_cells import control_run, plugin_run, unjudged, with_arm

CASE = Path(__file__).parents[1] / "cases" / "treatment-arms" / "delta" / "D01_n20.json"


@pytest.fixture
def delta() -> PluginDelta:
    computed = plugin_delta(control_run(), plugin_run())
    assert isinstance(computed, PluginDelta)
    return computed


def test_a_file_says_what_was_written(delta: PluginDelta, tmp_path: Path) -> None:
    path = tmp_path / "delta.json"
    path.write_bytes(plugin_delta_bytes(delta))
    read = json.loads(read_plugin_delta(path).model_dump_json(exclude_unset=True))
    assert read == json.loads(path.read_text()) == json.loads(json.dumps(plugin_delta_payload(delta)))


def test_a_file_of_the_formats_other_tool_is_read() -> None:
    file = read_plugin_delta(CASE)
    assert file.score_deltas["docs"].aggregate_delta == -4.65
    assert file.cost_deltas["docs"].mean_ttft_sec.delta is None
    assert file.answer_text_deltas["skill:x"].final_answer_chars.delta == -14.1
    assert (file.correction, file.score_deltas["docs"].significance, file.coverage_rate) == (None, None, None)


def test_the_bytes_are_ascii_with_an_indent_and_the_same_every_time(delta: PluginDelta) -> None:
    again = plugin_delta(control_run(), plugin_run())
    assert isinstance(again, PluginDelta)
    data = plugin_delta_bytes(delta)
    assert data == plugin_delta_bytes(again)
    assert data.decode("ascii").startswith('{\n  "schema_version": "plugin_delta.v1",\n')


def test_points_have_four_decimals_and_the_length_delta_is_of_rounded_averages() -> None:
    thirds = {"q000": 1.0, "q001": 1.0, "q002": 2.0}
    more = {"q000": 1.0, "q001": 2.0, "q002": 2.0}
    control = with_arm(control_run(), "docs", points=thirds, raw_answer_chars=thirds)
    delta = plugin_delta(control, with_arm(plugin_run(), "docs", points=more, raw_answer_chars=more))
    assert isinstance(delta, PluginDelta)
    payload: Any = plugin_delta_payload(delta)
    score = payload["score_deltas"]["docs"]
    assert (score["baseline_avg_aggregate"], score["plugin_avg_aggregate"], score["aggregate_delta"]) == (1.3333, 1.6667, 0.3333)
    assert payload["answer_text_deltas"]["docs"]["raw_answer_chars"] == {
        "baseline_avg": 1.3333,
        "plugin_avg": 1.6667,
        "delta": 0.3334,
        "n": 3,
        "paired_delta": 0.3333,
    }


def test_every_arm_has_its_significance_with_the_family_of_this_delta(delta: PluginDelta) -> None:
    payload: Any = plugin_delta_payload(delta)
    blocks = {arm: block["significance"] for arm, block in payload["score_deltas"].items()}
    assert {(block["correction_family"], block["correction"], block["family_size"]) for block in blocks.values()} == {
        ("plugin_delta", "holm", 4)
    }
    assert blocks["docs"]["significant_adjusted"] is True
    assert blocks["docs"]["delta_mean"] == round(payload["score_deltas"]["docs"]["aggregate_delta"], 2)


def test_without_a_judge_nobody_is_named_and_every_number_of_points_is_null() -> None:
    delta = plugin_delta(unjudged(control_run()), unjudged(plugin_run()))
    assert isinstance(delta, PluginDelta)
    payload: Any = plugin_delta_payload(delta)
    nothing = {"n": 0, "baseline_avg_aggregate": None, "plugin_avg_aggregate": None, "aggregate_delta": None}
    assert payload["score_deltas"]["docs"] == nothing
    assert (payload["judge_model"], payload["judge_provider"], payload["coverage_rate"]) == (None, None, None)


def _other_version(data: dict[str, Any]) -> None:
    data["schema_version"] = "plugin_delta.v2"


def _no_arms(data: dict[str, Any]) -> None:
    del data["arms"]


def _text_for_a_number(data: dict[str, Any]) -> None:
    data["score_deltas"]["docs"]["aggregate_delta"] = "-4.65"


def _unknown_arm(data: dict[str, Any]) -> None:
    data["cost_deltas"]["docz"] = data["cost_deltas"].pop("docs")


@pytest.mark.parametrize(
    ("spoil", "field", "said"),
    [
        (_other_version, "schema_version", "plugin_delta.v1"),
        (_no_arms, "arms", "is needed"),
        (_text_for_a_number, "score_deltas.docs.aggregate_delta", "must be a number"),
        (_unknown_arm, None, "Did you mean 'docs'?"),
    ],
    ids=["version", "arms", "number", "arm"],
)
def test_a_file_that_is_not_as_it_should_be_names_file_and_field(
    spoil: Callable[[dict[str, Any]], None], field: str | None, said: str, tmp_path: Path
) -> None:
    data = json.loads(CASE.read_text())
    spoil(data)
    path = tmp_path / "delta.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as refused:
        read_plugin_delta(path)
    assert (refused.value.file, refused.value.field) == (str(path), field)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "[1, 2", '{"a": NaN}'])
def test_a_file_that_is_no_json_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "delta.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"delta\.json.*is not JSON"):
        read_plugin_delta(path)
