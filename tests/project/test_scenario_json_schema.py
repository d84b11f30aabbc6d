"""The published JSON Schema of the scenario file is that of the code; what it takes the loader takes, and what it refuses is refused."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evalplatform.kernel.errors import ScenarioFileError
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.project.scenario_json_schema import scenario_json_schema_text
from evalplatform.project.yaml_file import plain, read_yaml_mapping
from evalplatform.runs.assertions.assertion import assertion_kinds
from evalplatform.runs.detectors.detector import detectors

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "scenarios.schema.json"
COMMAND = "python -m evalplatform.project.scenario_json_schema > docs/scenarios.schema.json"
SHIPPED = sorted((ROOT / "examples").glob("*/scenarios.yaml"))


def published() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return schema


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == scenario_json_schema_text(), f"run: {COMMAND}"


def test_the_schema_is_one_and_closed_everywhere() -> None:
    schema = published()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert [name for name, part in schema["$defs"].items() if name != "JsonValue" and part.get("additionalProperties") is not False] == []


def test_every_kind_of_assertion_and_every_detector_is_in_the_schema() -> None:
    definitions = published()["$defs"]
    entries = definitions["ScenarioEntry"]["properties"]["assertions"]["items"]["anyOf"]
    assert [name for entry in entries for name in entry["properties"]] == assertion_kinds.names()
    assert [one["const"] for one in definitions["PolicyEntry"]["properties"]["detector"]["anyOf"]] == detectors.names()


def test_there_is_an_example_to_keep_to_the_schema() -> None:
    assert SHIPPED


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.parent.name)
def test_a_shipped_scenario_file_keeps_to_the_schema(file: Path) -> None:
    jsonschema.validate(plain(read_yaml_mapping(file)), published())


SPOILT = [
    {"version": 2},
    {"scenarioss": []},
    {"scenarios": []},
    {"scenarios": [{"id": "a"}]},
    {"scenarios": [{"id": "a", "message": "m", "messages": ["m"]}]},
    {"scenarios": [{"id": "a", "message": "m", "gate_tier": "high"}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": ["no_file_changed"]}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": [{"tool_caled": "x"}]}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": [{"tool_called": "x", "max_steps": 3}]}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": [{"call_order": ["one"]}]}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": [{"max_steps": "3"}]}]},
    {"scenarios": [{"id": "a", "message": "m", "assertions": [{"tool_called_with": {"tool": "x", "arguments": {"/a": {"like": 1}}}}]}]},
    {"scenarios": [{"id": "a", "message": "m", "limits": {"max_step": 3}}]},
    {"gate": None},
    {"scenarios": [{"id": "a", "message": "m", "policies": None}]},
    {"gate": {"target_drop": 4}},
    {"gate": {"runs": 51}},
    {"policies": {"p": {}}},
    {"policies": {"p": {"pattern": "x", "detector": "iban"}}},
    {"policies": {"p": {"detector": "ibann"}}},
    {"agent": {}},
    {"agent": {"command": {"argv": ["x"]}, "python": {"callable": "a:b"}}},
]


@pytest.mark.parametrize("change", SPOILT, ids=lambda change: json.dumps(change)[:60])
def test_what_the_schema_refuses_the_loader_refuses_as_well(tmp_path: Path, change: dict[str, Any]) -> None:
    schema = jsonschema.Draft202012Validator(published())
    good = {"version": 1, "scenarios": [{"id": "a", "message": "m"}]}
    assert schema.is_valid(good)
    spoilt = good | change
    assert not schema.is_valid(spoilt)
    file = tmp_path / "scenarios.yaml"
    file.write_text(json.dumps(spoilt), encoding="utf-8")
    with pytest.raises(ScenarioFileError):
        load_scenario_set(file)
