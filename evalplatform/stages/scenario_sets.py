"""Stage `scenario_set`: read the scenario file, refuse what cannot be run, store it resolved."""

import orjson

from evalplatform.kernel.errors import InputError
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import ScenarioSetFacts

ASSET = "scenario_set"
CODE_VERSION = "1"
FILE = "scenario-set.json"


def materialize_scenario_set(context: RunsContext) -> StageResult:
    """Read the project's scenario file and store it. Raises as `current_scenarios` does."""
    scenarios = current_scenarios(context)
    key = StageKey(context.artifact(ASSET), inputs={"scenarios": scenarios.digest}, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    return stored_result(context, key, files={FILE: _json(scenarios)}, facts=as_facts(_facts(scenarios)))


def current_scenarios(context: RunsContext) -> ScenarioSet:
    """Read the project's scenario file as it is now.

    Raises:
        InputError: the project file names none.
        ScenarioFileError: the file cannot be used; file, line and rule are named.
    """
    if context.project.scenario_file is None:
        raise InputError("the project file names no scenario file.", file=context.project.file, field="scenarios")
    return load_scenario_set(context.project.scenario_file, project=context.project)


def _json(scenarios: ScenarioSet) -> bytes:
    stored = {
        "digest": scenarios.digest,
        "judge": scenarios.judge_identity,
        "policy": scenarios.policy_json,
        "recordings": dict(scenarios.recordings),
        "scenarios": [
            {**scenario.model_dump(mode="json"), "planned": scenarios.planned(scenario).model_dump(mode="json")}
            for scenario in scenarios.scenarios
        ],
    }
    return orjson.dumps(stored, option=orjson.OPT_INDENT_2)


def _facts(scenarios: ScenarioSet) -> ScenarioSetFacts:
    planned = scenarios.planned_all().values()
    return ScenarioSetFacts(
        digest=scenarios.digest,
        scenarios=len(scenarios.scenarios),
        replayed=sum(one.leg == "replay" for one in planned),
        critical=sum(one.tier == "critical" for one in planned),
        planned_runs=sum(one.planned_runs for one in planned),
        judge=scenarios.judge_identity,
    )
