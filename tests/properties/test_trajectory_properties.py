"""What must hold of signatures and diffs whatever two runs did."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from evalplatform.runs.alignment import ARGUMENTS_COST, GAP_COST, OTHER_COST, Pair, aligned
from evalplatform.runs.argument_shape import argument_shape
from evalplatform.runs.folding import diff_view
from evalplatform.runs.signature import Token, signature, units_of
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.run_strategies import JSON_VALUES, trajectories, trajectory_pairs
from tests.support.trajectories import trajectory_of

USER, AGENT = Token("message", "user"), Token("message", "assistant")
LOOKUP, REFUND = (Token("tool_call", tool, ("object",), has_result=True) for tool in ("lookup", "refund"))
TOKENS = st.lists(
    st.one_of(
        st.builds(Token, st.just("message"), st.sampled_from(["user", "assistant"])),
        st.builds(
            Token, st.just("tool_call"), st.sampled_from(["lookup", "refund"]), st.sampled_from([("object",), ("array",)]), st.booleans()
        ),
    ),
    max_size=7,
)


def reworded(step: Step, words: str) -> Step:
    match step:
        case MessageStep() | ToolResultStep():
            return step.with_changes(text=words)
        case ToolCallStep():
            return step.with_changes(arguments_text=revalued(step.arguments_text, words), text=words, call_id=step.call_id)
        case FileChangeStep():
            return step.with_changes(files=tuple(file.with_changes(digest=words) for file in step.files))


def revalued(arguments_text: str, words: str) -> str:
    """The same keys and types with other values."""

    def other(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: other(below) for key, below in reversed(value.items())}
        if isinstance(value, list):
            return [other(below) for below in [*value, *value]]
        return words if isinstance(value, str) else not value if isinstance(value, bool) else 7 if isinstance(value, int | float) else value

    if argument_shape(arguments_text) == ("not JSON",):
        return arguments_text + words if argument_shape(arguments_text + words) == ("not JSON",) else arguments_text
    return json.dumps(other(json.loads(arguments_text)))


@given(trajectories(), st.text(max_size=5))
def test_a_signature_ignores_prose_and_values(trajectory: Trajectory, words: str) -> None:
    other = Trajectory(steps=tuple(reworded(step, words) for step in trajectory.steps))
    assert signature(other) == signature(trajectory)
    assert signature(other).digest == signature(trajectory).digest


@given(trajectories())
def test_a_trajectory_does_not_differ_from_itself(trajectory: Trajectory) -> None:
    diff = diff_trajectories(trajectory, trajectory)
    assert (diff.changes, diff.first_divergence, diff.differing_steps) == ((), None, 0)


@given(trajectory_pairs())
def test_the_diff_the_other_way_round_is_its_mirror_image(pair: tuple[Trajectory, Trajectory]) -> None:
    a, b = pair
    assert diff_trajectories(b, a) == diff_trajectories(a, b).mirrored


@given(trajectory_pairs())
def test_without_what_the_changes_name_both_runs_are_the_same(pair: tuple[Trajectory, Trajectory]) -> None:
    a, b = pair
    diff = diff_trajectories(a, b)
    named_a = {step for change in diff.changes if change.a is not None for step in change.a.steps}
    named_b = {step for change in diff.changes if change.b is not None for step in change.b.steps}
    left_a = [unit.token for unit in units_of(a) if unit.step not in named_a]
    left_b = [unit.token for unit in units_of(b) if unit.step not in named_b]
    assert left_a == left_b


@given(trajectory_pairs())
def test_a_diff_is_empty_exactly_where_the_signatures_agree(pair: tuple[Trajectory, Trajectory]) -> None:
    a, b = (signature(one) for one in pair)
    same_files = a.files == b.files or a.files is None or b.files is None
    assert (not diff_trajectories(*pair).changes) == (a.tokens == b.tokens and same_files)


@given(trajectory_pairs())
def test_every_step_is_shown_once_and_only_alike_ones_are_folded(pair: tuple[Trajectory, Trajectory]) -> None:
    a, b = pair
    view = diff_view(a, b, diff_trajectories(a, b))
    assert sorted(step for row in view.rows for step in row.a) == list(range(1, len(a.steps) + 1))
    assert sorted(step for row in view.rows for step in row.b) == list(range(1, len(b.steps) + 1))
    folded = [place for fold in view.folds for place in range(fold.first_row, fold.after_row)]
    assert folded == sorted(set(folded)), "folds stand in order and apart"
    for fold in view.folds:
        hidden = view.rows[fold.first_row : fold.after_row]
        assert len(hidden) >= 3
        assert view.split_row is not None
        assert fold.after_row <= view.split_row
        assert all(row.change is None for row in hidden)
        assert (fold.steps_a, fold.steps_b) == (sum(len(row.a) for row in hidden), sum(len(row.b) for row in hidden))


@given(trajectory_pairs())
@example((trajectory_of("user user lookup lookup lookup refund"), trajectory_of("user user lookup lookup lookup escalate")))
def test_no_three_rows_stand_open_between_the_message_that_led_to_the_split_and_the_split(pair: tuple[Trajectory, Trajectory]) -> None:
    diff = diff_trajectories(*pair)
    view = diff_view(*pair, diff)
    before = [line.a.token[:2] for line in diff.lines[: view.split_row or 0] if line.a is not None]
    asked = max((place for place, name in enumerate(before) if name == ("message", "user")), default=-1)
    acts = next((place for place in range(asked + 1, len(before)) if before[place] != ("message", "assistant")), len(before))
    done = range(acts, len(before))
    assert len(done) < 3 or {place for fold in view.folds for place in range(fold.first_row, fold.after_row)}.issuperset(done)


@given(trajectory_pairs())
def test_a_call_that_one_run_got_no_answer_to_is_never_told_without_it(pair: tuple[Trajectory, Trajectory]) -> None:
    for change in diff_trajectories(*pair).changes:
        calls = [side for side in (change.a, change.b) if side is not None and side.subject == "tool_call"]
        unanswered = ["a" if side is change.a else "b" for side in calls if len(side.steps) == 1]
        one_sided = len(calls) == 2 and len(unanswered) == 1
        assert change.result_missing_in == (unanswered[0] if one_sided else None)


def pair_cost(a: Token, b: Token) -> int:
    if a == b:
        return 0
    return ARGUMENTS_COST if a[:2] == b[:2] else OTHER_COST if a.kind == b.kind else 2 * GAP_COST


def least_cost(a: list[Token], b: list[Token]) -> int:
    """The edit distance by its definition."""
    costs = [[GAP_COST * (i + j) for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, one in enumerate(a, start=1):
        for j, other in enumerate(b, start=1):
            costs[i][j] = min(costs[i - 1][j] + GAP_COST, costs[i][j - 1] + GAP_COST, costs[i - 1][j - 1] + pair_cost(one, other))
    return costs[-1][-1]


@given(TOKENS, TOKENS)
def test_no_cheaper_way_lays_two_structures_side_by_side(a: list[Token], b: list[Token]) -> None:
    pairs = aligned(a, b)
    assert [pair.a for pair in pairs if pair.a is not None] == list(range(len(a)))
    assert [pair.b for pair in pairs if pair.b is not None] == list(range(len(b)))
    cost = sum(GAP_COST if pair.a is None or pair.b is None else pair_cost(a[pair.a], b[pair.b]) for pair in pairs)
    assert cost == least_cost(a, b)


@given(TOKENS, TOKENS)
@example([USER, REFUND], [LOOKUP, AGENT])  # two ways cost the same
def test_which_side_comes_first_decides_no_tie(a: list[Token], b: list[Token]) -> None:
    assert aligned(b, a) == tuple(Pair(pair.b, pair.a) for pair in aligned(a, b))


@given(JSON_VALUES)
def test_the_shape_of_arguments_does_not_depend_on_how_they_are_spelled(value: Any) -> None:
    assert argument_shape(json.dumps(value)) == argument_shape(json.dumps(value, indent=3, ensure_ascii=False, sort_keys=True))
