"""A trajectory diff in words: where two runs part, and each differing step, named by its tools.

Names that an agent wrote (tools, keys, paths) are cut to a line, with what is hidden in them made visible: the words can stand anywhere.
"""

from collections.abc import Sequence

from evalplatform.kernel.text import plural
from evalplatform.reports.visible import one_line
from evalplatform.runs.folding import Fold
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import ChangedStep, StepChange, TrajectoryDiff

COMPARED_WORDS = "Roles, tool names and the shape of arguments are compared; wording and values are not."
NAMED_ENTRIES = 4
NAME_LIMIT_CHARS = 80
ENTRY_LIMIT_CHARS = 120

_MESSAGES = {
    "system": "system message",
    "user": "user message",
    # What an agent says right before a call is not compared: only a message of its own can be missing, or stand in another's place.
    "assistant": "agent message (without a call)",
    "file_change": "changed files",
}
_FILE_STATES = {
    "unchecked_in_a": "The files are unchecked: run A recorded no file state.",
    "unchecked_in_b": "The files are unchecked: run B recorded no file state.",
    "unchecked": "The files are unchecked: neither run recorded a file state.",
}


def trajectory_diff_lines(diff: TrajectoryDiff) -> tuple[str, ...]:
    """Return the diff as lines: how many steps differ, where the first one is, each change, and what stayed unchecked."""
    lines = [differing_steps_words(diff)]
    if diff.first_divergence is not None:
        lines.append(first_divergence_words(diff))
        lines += [f"  {change_steps_words(change)} · {change_words(change)}" for change in diff.changes]
    unchecked = unchecked_files_words(diff)
    return tuple(lines if unchecked is None else [*lines, unchecked])


def differing_steps_words(diff: TrajectoryDiff) -> str:
    """Return `1 differing step`, `3 differing steps`, or that none differs."""
    return plural(diff.differing_steps, "differing step") if diff.changes else "No differing step"


def other_texts_words(a: Trajectory, b: Trajectory, diff: TrajectoryDiff) -> str | None:
    """Return that two runs without a differing step have other texts all the same; None where a step differs, or no text does."""
    if diff.changes or _texts(a) == _texts(b):
        return None
    return f"The texts of the two runs are not the same. {COMPARED_WORDS}"


def first_divergence_words(diff: TrajectoryDiff, *, scenario_id: str | None = None) -> str:
    """Return the sentence that says where two runs part, such as `First divergence at step 3: lookup_order → issue_refund.`

    Args:
        diff: the diff of the two runs.
        scenario_id: named in the sentence where it is given.
    """
    change = diff.first_divergence
    where = "" if scenario_id is None else f" in {one_line(scenario_id)}"
    if change is None:
        return f"No divergence{where}: both runs took the same steps."
    a, b = change.a, change.b
    if a is not None and b is not None and a.steps[0] != b.steps[0]:
        at = f"step {a.steps[0]} of A and step {b.steps[0]} of B"
    else:
        present = a or b
        at = f"step {present.steps[0]}" if present is not None else ""
    return f"First divergence at {at}{where}: {change_words(change)}."


def change_steps_words(change: StepChange) -> str:
    """Return which steps a change is on: `step 3`, `steps 3-4` for a call and its result, `steps 3 and 6` where others stand between.

    Where the two runs count differently, both are named.
    """
    a, b = change.a, change.b
    if a is not None and b is not None and a.steps != b.steps:
        return f"{_steps(a.steps)} of A, {_steps(b.steps)} of B"
    present = a or b
    return "" if present is None else _steps(present.steps)


def change_words(change: StepChange) -> str:
    """Return what differs, such as `lookup_order → issue_refund` or `lookup_order missing in B`."""
    a, b = change.a, change.b
    name = _name(a or b)
    match change.kind:
        case "missing_in_a" | "missing_in_b":
            return f"{name} missing in {change.kind[-1].upper()}"
        case "result_missing_in_a" | "result_missing_in_b":
            return f"result of {name} missing in {change.kind[-1].upper()}"
        case "arguments_changed":
            return f"{name} with other arguments{_only_in(change)}{_missing_result(change)}"
        case "files_changed":
            return f"other files changed{_only_in(change)}"
        case "changed":
            return f"{_name(a)} → {_name(b)}{_missing_result(change)}"


def unchecked_files_words(diff: TrajectoryDiff) -> str | None:
    """Return the sentence that says why the files the runs left were not compared, or None where they were."""
    return _FILE_STATES.get(diff.file_state)


def fold_words(fold: Fold) -> tuple[str, str]:
    """Return how many steps a fold hides, such as `12 earlier steps`, and the note beside it."""
    steps = plural(fold.steps_a, "earlier step")
    if fold.steps_a != fold.steps_b:
        steps = f"{fold.steps_a:,} earlier steps of A and {fold.steps_b:,} of B"
    hidden = f"{plural(fold.user_messages, 'user message')} among them. " if fold.user_messages else ""
    return steps, f"{hidden}Same tool path in both runs."


def _texts(trajectory: Trajectory) -> list[dict[str, object]]:
    return [step.model_dump(exclude={"call_id"}) for step in trajectory.steps]


def _name(side: ChangedStep | None) -> str:
    if side is None:
        return "nothing"
    if side.tool is None:
        return _MESSAGES[side.subject]
    tool = one_line(side.tool, NAME_LIMIT_CHARS)
    return tool if side.subject == "tool_call" else f"result of {tool}, which answers no call"


def _steps(steps: Sequence[int]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    first, last = steps[0], steps[-1]
    return f"steps {first}-{last}" if last == first + 1 else f"steps {first} and {last}"


def _only_in(change: StepChange) -> str:
    parts = [f"{_entries(entries)} in {side} only" for side, entries in (("A", change.only_in_a), ("B", change.only_in_b)) if entries]
    return f" ({'; '.join(parts)})" if parts else ""


def _missing_result(change: StepChange) -> str:
    return "" if change.result_missing_in is None else f", no result in {change.result_missing_in.upper()}"


def _entries(entries: Sequence[str]) -> str:
    named = ", ".join(one_line(entry, ENTRY_LIMIT_CHARS) for entry in entries[:NAMED_ENTRIES])
    left = len(entries) - NAMED_ENTRIES
    return f"{named} and {left} more" if left > 0 else named
