"""The published JSON Schema of the scenario file, with the argument of every kind of assertion.

After a change: `python -m evalplatform.project.scenario_json_schema > docs/scenarios.schema.json`.
"""

import json
import sys
from typing import Any

from evalplatform.project.scenario_schema import ScenarioFile
from evalplatform.runs.assertions.assertion import assertion_kinds
from evalplatform.runs.detectors.detector import detectors

_EXACTLY_ONE_OF = {"ScenarioEntry": ("message", "messages"), "PolicyEntry": ("pattern", "detector")}

_WRITTEN = ("LimitSettings", "PolicyEntry", "ScenarioEntry")
"""Where a key with nothing under it is refused, as at the top level."""


def scenario_json_schema() -> dict[str, Any]:
    """Return the schema as data."""
    schema = ScenarioFile.model_json_schema()
    definitions = schema["$defs"]
    definitions["ScenarioEntry"]["properties"]["assertions"]["items"] = {
        "anyOf": [_assertion(kind, definitions) for kind in assertion_kinds]
    }
    definitions["PolicyEntry"]["properties"]["detector"] = {
        "description": "A named detector.",
        "anyOf": [{"const": name, "description": detectors.get(name).description} for name in detectors],
    }
    for written in (schema, *(definitions[name] for name in _WRITTEN)):
        written["properties"] = {name: _given(part) for name, part in written["properties"].items()}
    for name, keys in _EXACTLY_ONE_OF.items():
        definitions[name]["oneOf"] = [{"required": [key]} for key in keys]
    definitions["AgentSettings"] |= {"minProperties": 1, "maxProperties": 1}
    schema["$defs"] = dict(sorted(definitions.items()))
    return schema


def scenario_json_schema_text() -> str:
    """Return the schema as it stands in docs/scenarios.schema.json."""
    return json.dumps(scenario_json_schema(), indent=2, ensure_ascii=False) + "\n"


def _given(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key that may be left out and is never null."""
    kinds = [kind for kind in part.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == len(part.get("anyOf", ())):
        return part
    rest = {name: value for name, value in part.items() if name not in ("anyOf", "default")}
    return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _assertion(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one kind's entry; the value classes of its argument join the definitions."""
    kind = assertion_kinds.get(name)
    argument = kind.adapter.json_schema()
    definitions |= argument.pop("$defs", {})
    if argument.get("type") == "object" and "title" in argument:
        definitions[argument["title"]] = argument
        argument = {"$ref": f"#/$defs/{argument['title']}"}
    return {
        "type": "object",
        "description": kind.description,
        "properties": {name: argument},
        "required": [name],
        "additionalProperties": False,
    }


if __name__ == "__main__":
    sys.stdout.write(scenario_json_schema_text())
