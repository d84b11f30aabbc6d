"""A trajectory as the text that a model judge reads: bounded, and every cut is said in it."""

from collections.abc import Sequence

from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Step, ToolCallStep, Trajectory

MAX_STEP_CHARS = 4_000
MAX_TRANSCRIPT_CHARS = 60_000


def transcript_text(trajectory: Trajectory) -> str:
    """Return the steps, numbered from 1. A long step keeps its beginning and its end; of too many steps the middle ones are left out."""
    steps = [f"[step {number}] {_cut(_step_text(step))}" for number, step in enumerate(trajectory.steps, start=1)]
    return "\n\n".join(_within(steps, MAX_TRANSCRIPT_CHARS))


def _step_text(step: Step) -> str:
    if isinstance(step, MessageStep):
        return f"{step.role}: {step.text}"
    if isinstance(step, ToolCallStep):
        said = f"assistant: {step.text}\n" if step.text else ""
        return f"{said}call of {step.tool}: {step.arguments_text}"
    if isinstance(step, FileChangeStep):
        return "files changed: " + (", ".join(f"{file.path} ({file.change})" for file in step.files) or "none")
    return f"result of {step.tool}: {step.text}"


def _cut(text: str) -> str:
    left_out = len(text) - MAX_STEP_CHARS
    if left_out <= 0:
        return text
    half = MAX_STEP_CHARS // 2
    return f"{text[:half]}\n[{left_out:,} characters left out]\n{text[-half:]}"


def _within(steps: Sequence[str], limit_chars: int) -> list[str]:
    """Return the steps, or as many of the first and of the last as the limit has room for, half each, with a note between."""
    if sum(map(len, steps)) <= limit_chars:
        return list(steps)
    first = _as_many(steps, limit_chars // 2)
    last = _as_many(steps[::-1], limit_chars // 2)
    note = f"[{len(steps) - first - last:,} steps left out]"
    return [*steps[:first], note, *steps[len(steps) - last :]]


def _as_many(steps: Sequence[str], limit_chars: int) -> int:
    count = used = 0
    for step in steps:
        used += len(step)
        if used > limit_chars:
            break
        count += 1
    return count
