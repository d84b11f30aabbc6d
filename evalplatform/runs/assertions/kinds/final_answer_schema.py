"""`final_answer_schema`: the agent's final message is JSON that keeps to a JSON Schema."""

from typing import Annotated, Any

from pydantic import AfterValidator, JsonValue

from evalplatform.runs.assertions.assertion import (
    PASSED,
    AssertionKind,
    Finding,
    RunFacts,
    assertion_kinds,
    failed,
    no_final_message,
    unchecked,
)
from evalplatform.runs.assertions.json_text import NotJsonTextError, json_of
from evalplatform.runs.assertions.matchers import UndecidedMatchError
from evalplatform.runs.assertions.schema_rules import checked_schema
from evalplatform.runs.assertions.schema_validator import schema_mismatch


def _check(schema: dict[str, Any], facts: RunFacts) -> Finding:
    text = facts.trajectory.final_text
    if text is None:
        return no_final_message(facts.trajectory)
    try:
        mismatch = schema_mismatch(schema, json_of(text))
    except NotJsonTextError as not_json:
        return failed(f"the final message is no JSON: {not_json}")
    except UndecidedMatchError as undecided:
        return unchecked(str(undecided))
    return PASSED if mismatch is None else failed(mismatch)


JsonSchema = Annotated[dict[str, JsonValue], AfterValidator(checked_schema)]

assertion_kinds.register("final_answer_schema")(
    AssertionKind(
        JsonSchema, "The agent's final message is JSON that keeps to this JSON Schema (2020-12); `format` in it asserts nothing.", _check
    )
)
