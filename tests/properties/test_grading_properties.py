"""Promises of grading that hold for any run and any assertions."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from evalplatform.judging.structural import grade_structurally
from evalplatform.judging.transcript import MAX_TRANSCRIPT_CHARS, transcript_text
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.assertions.json_pointer import ABSENT, value_at
from evalplatform.runs.assertions.json_text import json_equal, json_of
from evalplatform.runs.assertions.matchers import GivenMatcher, Matcher
from evalplatform.runs.policies import policy_scan
from evalplatform.runs.scenario import AssertionSpec, PolicySpec, Scenario
from evalplatform.runs.trajectory import Trajectory
from tests.support.run_strategies import JSON_VALUES, TOOLS, trajectories

NEVER = AssertionSpec(kind="tool_called", argument="a tool that no run calls")
ALWAYS = AssertionSpec(kind="tool_not_called", argument="a tool that no run calls")
MATCHER: TypeAdapter[Matcher] = TypeAdapter(GivenMatcher)

ASSERTIONS = st.one_of(
    st.builds(AssertionSpec, kind=st.sampled_from(["tool_called", "tool_not_called"]), argument=st.sampled_from(TOOLS)),
    st.builds(AssertionSpec, kind=st.just("call_order"), argument=st.lists(st.sampled_from(TOOLS), min_size=2, max_size=3)),
    st.builds(
        AssertionSpec, kind=st.sampled_from(["final_text_contains", "final_text_matches"]), argument=st.sampled_from(["a", "0", "x"])
    ),
    st.builds(AssertionSpec, kind=st.sampled_from(["max_steps", "max_tokens", "max_seconds"]), argument=st.integers(0, 9)),
    st.just(AssertionSpec(kind="no_file_changed", argument=True)),
    st.builds(
        lambda tool, value: AssertionSpec(kind="tool_called_with", argument={"tool": tool, "arguments": {"/id": {"equals": value}}}),
        st.sampled_from(TOOLS),
        JSON_VALUES,
    ),
)


def scenario(assertions: list[AssertionSpec]) -> Scenario:
    return Scenario(id="s", messages=("m",), assertions=tuple(assertions))


@given(trajectories(), st.lists(ASSERTIONS, max_size=6), st.integers(0, 6))
def test_a_failing_assertion_never_raises_the_score_and_always_fails_the_run(
    trajectory: Trajectory, assertions: list[AssertionSpec], place: int
) -> None:
    facts = RunFacts(trajectory=trajectory)
    before = grade_structurally(scenario(assertions), facts)
    after = grade_structurally(scenario([*assertions[:place], NEVER, *assertions[place:]]), facts)
    assert after.outcome == "failed"
    assert after.score_points is not None
    assert after.score_points <= (100 if before.score_points is None else before.score_points)


@given(trajectories(), st.lists(ASSERTIONS, max_size=6))
def test_a_passing_assertion_never_lowers_the_score(trajectory: Trajectory, assertions: list[AssertionSpec]) -> None:
    facts = RunFacts(trajectory=trajectory)
    before = grade_structurally(scenario(assertions), facts)
    after = grade_structurally(scenario([*assertions, ALWAYS]), facts)
    assert after.score_points is not None
    assert after.score_points >= (before.score_points or 0)


@given(trajectories(), st.lists(ASSERTIONS, max_size=6).flatmap(lambda specs: st.tuples(st.just(specs), st.permutations(specs))))
def test_the_order_of_assertions_changes_neither_outcome_nor_score(
    trajectory: Trajectory, orders: tuple[list[AssertionSpec], list[AssertionSpec]]
) -> None:
    facts = RunFacts(trajectory=trajectory, seconds=4.0)
    one, other = (grade_structurally(scenario(assertions), facts) for assertions in orders)
    assert (one.outcome, one.score_points) == (other.outcome, other.score_points)
    assert sorted(map(str, one.results)) == sorted(map(str, other.results))


@given(trajectories(), st.lists(ASSERTIONS, max_size=6))
def test_a_grade_agrees_with_its_results(trajectory: Trajectory, assertions: list[AssertionSpec]) -> None:
    grade = grade_structurally(scenario(assertions), RunFacts(trajectory=trajectory))
    states = [result.state for result in grade.results]
    assert len(states) == len(assertions)
    assert (grade.outcome == "ungraded") == (grade.score_points is None) == ("passed" not in states and "failed" not in states)
    assert (grade.outcome == "passed") == (grade.score_points == 100)
    assert (grade.reason is None) == (grade.outcome == "passed")
    assert all((result.detail is None) == (result.state == "passed") for result in grade.results)


@given(JSON_VALUES)
def test_a_value_equals_itself_also_when_it_was_written_and_read(value: JsonValue) -> None:
    assert json_equal(value, json_of(json.dumps(value)))
    assert MATCHER.validate_python({"equals": value}).mismatch(value) is None
    assert MATCHER.validate_python({"one_of": ["other", value]}).mismatch(value) is None


@given(JSON_VALUES, JSON_VALUES)
def test_equality_is_symmetric_and_agrees_with_the_matcher(a: JsonValue, b: JsonValue) -> None:
    assert json_equal(a, b) == json_equal(b, a)
    assert (MATCHER.validate_python({"equals": a}).mismatch(b) is None) == json_equal(a, b)


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4), st.text(max_size=4))
def test_every_member_is_found_by_its_escaped_name_and_no_other_is(document: dict[str, JsonValue], name: str) -> None:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    found = value_at(document, pointer)
    assert found is document[name] if name in document else found is ABSENT


@given(JSON_VALUES)
def test_a_value_is_present_or_absent_and_never_both(document: JsonValue) -> None:
    value = value_at(document, "/id")
    holds = [MATCHER.validate_python({rule: True}).mismatch(value) is None for rule in ("present", "absent")]
    assert sorted(holds) == [False, True]


@given(trajectories())
def test_a_policy_that_looks_in_more_places_never_finds_less(trajectory: Trajectory) -> None:
    narrow = PolicySpec(name="p", pattern="[a0]", look_in=("tool_arguments",))
    wide = narrow.with_changes(look_in=("tool_arguments", "tool_results", "agent_messages"))
    few, many = policy_scan(trajectory, [narrow]).violations, policy_scan(trajectory, [wide]).violations
    assert few is not None
    assert many is not None
    assert set(few) <= set(many)
    assert all(1 <= violation.step <= len(trajectory.steps) for violation in many)


@given(trajectories())
def test_a_transcript_shows_every_step_of_a_short_run(trajectory: Trajectory) -> None:
    text = transcript_text(trajectory)
    assert len(text) <= MAX_TRANSCRIPT_CHARS
    assert all(f"[step {number}] " in text for number in range(1, len(trajectory.steps) + 1))
