"""What of a trajectory is compared, and which of its steps belong together."""

from evalplatform.runs.signature import Token, Unit, signature, units_of
from tests.support.trajectories import trajectory_of

LOOKUP = Token("tool_call", "lookup", ("object",), True)


def test_a_call_and_its_result_are_one_unit() -> None:
    assert units_of(trajectory_of("user lookup agent")) == (
        Unit(Token("message", "user"), 1),
        Unit(LOOKUP, 2, 3),
        Unit(Token("message", "assistant"), 4),
    )


def test_each_of_two_parallel_calls_keeps_its_own_result() -> None:
    lookup, refund = units_of(trajectory_of("lookup&refund"))
    assert (lookup.steps, refund.steps) == ((1, 3), (2, 4))


def test_parallel_calls_have_the_structure_of_the_same_calls_one_by_one() -> None:
    assert signature(trajectory_of("user lookup&refund")) == signature(trajectory_of("user lookup refund"))


def test_what_the_agent_says_right_before_a_call_is_beside_it_and_not_compared() -> None:
    (_, call) = units_of(trajectory_of("user agent agent lookup"))
    assert (call.token, call.step, call.beside, call.all_steps) == (LOOKUP, 4, (2, 3), (2, 3, 4, 5))
    assert signature(trajectory_of("user agent lookup")) == signature(trajectory_of("user lookup"))


def test_an_unanswered_call_differs_from_an_answered_one() -> None:
    assert signature(trajectory_of("lookup!")) != signature(trajectory_of("lookup"))


def test_a_result_that_answers_no_call_is_compared_by_its_tool() -> None:
    whole = trajectory_of("user lookup")
    dangling = whole.with_changes(steps=(whole.steps[0], whole.steps[2]))
    assert signature(dangling).tokens == (Token("message", "user"), Token("tool_result", "lookup"))


def test_a_second_result_of_a_call_is_not_lost() -> None:
    whole = trajectory_of("lookup")
    twice = whole.with_changes(steps=(*whole.steps, whole.steps[1]))
    assert [token.kind for token in signature(twice).tokens] == ["tool_call", "tool_result"]


def test_the_files_that_a_run_left_are_compared_by_path_and_kind_of_change_and_not_by_what_they_hold() -> None:
    assert signature(trajectory_of("user files:a.txt", prose="x")) == signature(trajectory_of("user files:a.txt", prose="y"))
    assert signature(trajectory_of("user files:a.txt")) != signature(trajectory_of("user files:b.txt"))


def test_no_file_state_is_not_the_same_as_no_changed_file() -> None:
    assert signature(trajectory_of("user")).files is None
    assert signature(trajectory_of("user files")).files == ()
    assert signature(trajectory_of("user")).digest != signature(trajectory_of("user files")).digest


def test_a_tool_whose_name_utf8_cannot_hold_has_a_digest_too() -> None:
    assert signature(trajectory_of("\ud800")).digest.startswith("sha256:")
