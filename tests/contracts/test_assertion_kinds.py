"""What every kind of assertion holds to, run over the registry: a new kind inherits all of it with one entry in `EXAMPLES`."""

from typing import Any, NamedTuple

import jsonschema
import pytest
from pydantic import ValidationError

from evalplatform.kernel.usage import Usage
from evalplatform.runs.assertions.assertion import Finding, RunFacts, assertion_kinds
from tests.support.run_facts import call, facts, files, result, says, user

WENT_WELL = facts(
    user("Refund order A1."),
    call("find_order", {"order": {"id": "A1"}}, text="Let me look."),
    result("find_order", "found"),
    call("issue_refund", {"amount": 20, "order": {"id": "A1"}}),
    result("issue_refund", "done"),
    says('{"refunded": true}'),
    files(report_md="added"),
    usage=Usage(prompt_tokens=100, completion_tokens=20),
    cost_usd=0.02,
    seconds=3.5,
)
UNCHANGED_FILES = facts(user("Hello."), says("Hello."), files())
BARE = facts(user("Hello."))
"""A run of which nothing but the user's message is known."""


class Example(NamedTuple):
    passing: object
    failing: object
    of: RunFacts = WENT_WELL
    bare_state: str = "failed"


KINDS = assertion_kinds.names()
EXAMPLES: dict[str, Example] = {
    "call_order": Example(["find_order", "issue_refund"], ["issue_refund", "find_order"]),
    "file_changed": Example({"path": "report.md", "change": "added"}, {"path": "report.md", "change": "removed"}, bare_state="unchecked"),
    "final_answer_schema": Example({"required": ["refunded"]}, {"required": ["amount"]}),
    "final_text_contains": Example("refunded", "Refunded"),
    "final_text_equals": Example('{"refunded": true}\n', '{"refunded": false}'),
    "final_text_matches": Example("(?i)REFUNDED", "^refunded"),
    "max_cost_usd": Example(0.02, 0.01, bare_state="unchecked"),
    "max_seconds": Example(3.5, 3, bare_state="unchecked"),
    "max_steps": Example(6, 5, bare_state="passed"),
    "max_tokens": Example(120, 119, bare_state="unchecked"),
    "no_file_changed": Example(True, True, UNCHANGED_FILES, bare_state="unchecked"),
    "tool_called": Example("issue_refund", "escalate_to_human"),
    "tool_called_with": Example(
        {"tool": "issue_refund", "arguments": {"/amount": 20.0, "/order/id": {"matches": "^A"}}},
        {"tool": "issue_refund", "arguments": {"/amount": 21}},
    ),
    "tool_not_called": Example("escalate_to_human", "issue_refund", bare_state="passed"),
}

NO_ARGUMENTS: list[object] = [None, "", [], {}, -1, {"nonsense": 1}, [""], False]


def found(kind: str, argument: object, of: RunFacts) -> Finding:
    return assertion_kinds.get(kind).finding(argument, of)  # type: ignore[arg-type]


def test_every_kind_has_an_example() -> None:
    assert sorted(EXAMPLES) == assertion_kinds.names()


@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_what_holds_and_says_nothing_more(kind: str) -> None:
    assert found(kind, EXAMPLES[kind].passing, EXAMPLES[kind].of) == Finding("passed", None)


@pytest.mark.parametrize("kind", KINDS)
def test_it_fails_what_does_not_hold_and_says_what_was_found(kind: str) -> None:
    finding = found(kind, EXAMPLES[kind].failing, WENT_WELL)
    assert finding.state == "failed"
    assert finding.detail


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_run_does_not_show_is_unchecked_with_a_reason_and_never_a_pass(kind: str) -> None:
    finding = found(kind, EXAMPLES[kind].passing, BARE)
    assert finding.state == EXAMPLES[kind].bare_state
    assert (finding.detail is None) == (finding.state == "passed")


@pytest.mark.parametrize("kind", KINDS)
def test_it_refuses_arguments_that_say_nothing(kind: str) -> None:
    refused = []
    for argument in NO_ARGUMENTS:
        try:
            found(kind, argument, WENT_WELL)
        except ValidationError:
            refused.append(argument)
    # An empty schema, and one of a made-up keyword, are JSON Schemas that hold of everything; 0 or less of a thing is no limit at all.
    assert len(refused) >= (6 if kind == "final_answer_schema" else 7)


@pytest.mark.parametrize("kind", KINDS)
def test_its_published_schema_takes_its_examples(kind: str) -> None:
    schema: dict[str, Any] = assertion_kinds.get(kind).adapter.json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    assert all(validator.is_valid(argument) for argument in (EXAMPLES[kind].passing, EXAMPLES[kind].failing))
    assert not validator.is_valid(None)
    assert assertion_kinds.get(kind).description.endswith(".")
