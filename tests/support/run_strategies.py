"""Trajectories for property tests: any that a runner or a reader may write, and pairs that share most of their steps, as real runs do."""

import json
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory

TOOLS = ("lookup", "refund", "escalate")
TEXTS = st.text(max_size=12)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["id", "a/b", "*", "~", ""]), below, max_size=3),
    max_leaves=6,
)
ARGUMENTS = JSON_VALUES.map(json.dumps) | st.sampled_from(["", "{", "NaN", "id=3"])
FILES = st.lists(st.sampled_from(["a.txt", "b.txt"]), max_size=2, unique=True).map(
    lambda paths: FileChangeStep(files=tuple(ChangedFile(path=path, change="modified", digest="sha256:0") for path in sorted(paths)))
)


@st.composite
def step_groups(draw: DrawFn) -> Callable[[str], list[Step]]:
    """What one turn adds: a message, or calls with their results, some unanswered, some answered late, some results of no call."""
    role = draw(st.sampled_from(["system", "user", "assistant", "calls", "calls", "orphan"]))
    text = draw(TEXTS)
    if role == "orphan":
        return lambda key: [ToolResultStep(call_id=f"{key}-none", tool="lookup", text=text)]
    if role != "calls":
        return lambda key: [MessageStep.model_validate({"role": role, "text": text})]
    calls = draw(st.lists(st.tuples(st.sampled_from(TOOLS), ARGUMENTS, st.sampled_from([True, True, False])), min_size=1, max_size=2))

    def made(key: str) -> list[Step]:
        steps: list[Step] = [
            ToolCallStep(call_id=f"{key}-{place}", tool=tool, arguments_text=arguments, text=text if place == 0 else None)
            for place, (tool, arguments, _) in enumerate(calls)
        ]
        steps += [ToolResultStep(call_id=f"{key}-{n}", tool=call[0], text=text) for n, call in enumerate(calls) if call[2]]
        return steps

    return made


def trajectory_from(groups: list[Callable[[str], list[Step]]], files: FileChangeStep | None) -> Trajectory:
    """A trajectory of turns, with unique call ids."""
    steps = [step for number, group in enumerate(groups) for step in group(f"c{number}")]
    return Trajectory(steps=(*steps, *(() if files is None else (files,))))


def trajectories(max_turns: int = 8) -> st.SearchStrategy[Trajectory]:
    """Any trajectory."""
    return st.builds(trajectory_from, st.lists(step_groups(), max_size=max_turns), st.none() | FILES)


@st.composite
def trajectory_pairs(draw: DrawFn) -> tuple[Trajectory, Trajectory]:
    """Two trajectories; their turns come from one short list, so most pairs share some and differ in some."""
    pool = draw(st.lists(step_groups(), min_size=1, max_size=4))
    turns = st.lists(st.sampled_from(pool), max_size=8)
    one, other = (trajectory_from(draw(turns), draw(st.none() | FILES)) for _ in range(2))
    return one, other
