"""The published JSON Schema is that of the code, and the shipped project files keep to it."""

import json
from pathlib import Path

import jsonschema
import pytest

from evalplatform.project.json_schema import json_schema_text
from evalplatform.project.yaml_file import plain, read_yaml_mapping

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "evalplatform.schema.json"
COMMAND = "python -m evalplatform.project.json_schema > docs/evalplatform.schema.json"
SHIPPED = [
    ROOT / "examples" / "evalplatform-docs" / "evalplatform.yaml",
    ROOT / "evalplatform" / "templates" / "starter" / "evalplatform.yaml",
]


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == json_schema_text(), f"run: {COMMAND}"


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.parent.name)
def test_a_shipped_project_file_is_valid_and_a_spoilt_one_is_not(file: Path) -> None:
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    data = plain(read_yaml_mapping(file))
    assert isinstance(data, dict)
    jsonschema.validate(data, schema)
    for spoilt in ({**data, "version": 2}, {**data, "storag": "x"}, {**data, "project": "A B"}, {**data, "cells": {"a": {"model": "m"}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(spoilt, schema)


def test_every_field_of_the_file_is_described_by_the_schema() -> None:
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert schema["additionalProperties"] is False
    assert all(part.get("additionalProperties") is False for part in schema["$defs"].values())
