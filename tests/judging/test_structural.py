"""The structural judge: which outcome, how many points, and why."""

from evalplatform.judging.structural import assertion_label, grade_structurally
from evalplatform.kernel.usage import Usage
from evalplatform.runs.scenario import AssertionSpec, Scenario
from evalplatform.runs.trajectory import Step
from tests.support.run_facts import call, facts, files, says, user

RUN = facts(user("Hello."), call("lookup", {"id": 1}), call("lookup", "id=2"), says("Done."), usage=Usage(prompt_tokens=5))


def scenario(*assertions: tuple[str, object]) -> Scenario:
    specs = tuple(AssertionSpec.model_validate({"kind": kind, "argument": argument}) for kind, argument in assertions)
    return Scenario(id="s", messages=("Hello.",), assertions=specs)


def test_a_run_passes_when_every_checked_assertion_does() -> None:
    grade = grade_structurally(scenario(("tool_called", "lookup"), ("final_text_contains", "Done")), RUN)
    assert (grade.outcome, grade.reason, grade.score_points) == ("passed", None, 100)
    assert [(result.assertion, result.state) for result in grade.results] == [
        ("tool_called: lookup", "passed"),
        ("final_text_contains: Done", "passed"),
    ]


def test_the_score_is_the_share_of_the_checked_assertions_and_the_reason_names_what_failed() -> None:
    grade = grade_structurally(scenario(("tool_called", "lookup"), ("tool_called", "pay"), ("max_steps", 3), ("max_tokens", 9)), RUN)
    assert grade.outcome == "failed"
    assert grade.score_points == 100 / 3
    assert grade.reason == "2 of 3 checked assertions failed: tool_called: pay (pay was never called); max_steps: 3 (4 steps)."
    assert [result.state for result in grade.results] == ["passed", "failed", "failed", "unchecked"]


def test_an_unchecked_assertion_neither_helps_nor_hurts_and_alone_gives_no_verdict() -> None:
    grade = grade_structurally(scenario(("tool_called", "lookup"), ("max_cost_usd", 1), ("no_file_changed", True)), RUN)
    assert (grade.outcome, grade.score_points) == ("passed", 100)
    alone = grade_structurally(scenario(("no_file_changed", True)), RUN)
    assert (alone.outcome, alone.score_points) == ("ungraded", None)
    assert alone.reason == "No assertion could be checked: no_file_changed: true (the trace holds no file state)."


def test_a_scenario_without_assertions_is_ungraded_for_that_reason() -> None:
    grade = grade_structurally(scenario(), RUN)
    assert (grade.outcome, grade.score_points, grade.results) == ("ungraded", None, ())
    assert grade.reason == "The scenario has no assertion, so there is nothing to grade by."


def test_of_many_failures_three_are_named_and_the_rest_counted() -> None:
    grade = grade_structurally(scenario(*(("tool_called", f"t{number}") for number in range(5))), RUN)
    assert grade.reason is not None
    assert grade.reason.endswith("; and 2 more.")
    assert grade.reason.count("never called") == 3


def test_arguments_that_are_no_json_fail_the_assertion_and_say_so() -> None:
    only_text = facts(call("lookup", "id=2"))
    grade = grade_structurally(scenario(("tool_called_with", {"tool": "lookup", "arguments": {"/id": 2}})), only_text)
    assert grade.outcome == "failed"
    assert "step 1: its arguments are no JSON" in str(grade.reason)


def test_a_call_that_says_two_things_is_none_that_was_made_right() -> None:
    twice = facts(call("pay", '{"amount": 2000, "amount": 20}'))
    grade = grade_structurally(scenario(("tool_called_with", {"tool": "pay", "arguments": {"/amount": 20}})), twice)
    assert grade.outcome == "failed"
    assert 'no JSON: an object in it holds the name "amount" twice' in str(grade.reason)


def test_what_was_said_before_the_agent_acted_again_is_no_final_message() -> None:
    asked = scenario(("final_text_contains", "Done"), ("final_text_equals", "Done."), ("final_text_matches", "Done"))
    reasons: dict[tuple[Step, ...], str] = {
        (call("pay"),): "the agent wrote no final message: no message of its own follows its last tool call, of pay",
        (user("And then?"), call("pay")): "the agent wrote no final message: no message of its own follows its last tool call, of pay",
    }
    for after, reason in reasons.items():
        grade = grade_structurally(asked, facts(user("Hello."), says("Done."), *after))
        assert [result.detail for result in grade.results] == [reason] * 3
    assert grade_structurally(asked, facts(user("Hello."), says("Done."), files())).outcome == "passed"
    assert grade_structurally(asked, facts(user("Hello."), says("Done."), user("Thank you."))).outcome == "passed"


def test_one_more_file_is_counted_as_one() -> None:
    details = [
        result.detail
        for changes in ({"a_md": "added"}, {"a_md": "added", "b_md": "added"}, {"a_md": "added", "b_md": "added", "c_md": "removed"})
        for result in grade_structurally(scenario(("no_file_changed", True)), facts(files(**changes))).results
    ]
    assert details == ["a.md was added", "a.md was added, and 1 more file changed", "a.md was added, and 2 more files changed"]


def test_of_several_calls_one_must_match_all_and_the_nearest_is_named() -> None:
    calls = facts(call("pay", {"a": 1, "b": 2}), call("pay", {"a": 9, "b": 9}), call("pay", "?"))
    apart = grade_structurally(scenario(("tool_called_with", {"tool": "pay", "arguments": {"/a": 1, "/b": 9}})), calls)
    assert apart.outcome == "failed"
    assert "none of 3 calls matches; nearest, step 1: /b is 2, not 9" in str(apart.reason)
    together = grade_structurally(scenario(("tool_called_with", {"tool": "pay", "arguments": {"/a": 9, "/b": {"greater_than": 8}}})), calls)
    assert together.outcome == "passed"


def test_other_calls_may_stand_between_those_of_an_order_but_one_call_counts_once() -> None:
    calls = facts(call("a"), call("x"), call("b"), call("a"))
    orders = {("a", "b"): "passed", ("a", "b", "a"): "passed", ("b", "x"): "failed", ("a", "a", "a"): "failed"}
    assert {order: grade_structurally(scenario(("call_order", list(order))), calls).outcome for order in orders} == orders


def test_a_label_is_one_short_line() -> None:
    spec = AssertionSpec(kind="final_text_contains", argument="first\nsecond " + "x" * 500)
    label = assertion_label(spec)
    assert label.startswith("final_text_contains: first second xx")
    assert len(label) <= 161
