"""Where two trajectories part, and every change between them, in terms of tools and roles."""

from typing import Literal, NamedTuple

from evalplatform.kernel.values import Value
from evalplatform.runs.alignment import aligned
from evalplatform.runs.signature import Token, Unit, file_change_step, files_shape, units_of
from evalplatform.runs.trajectory import Trajectory

ChangeKind = Literal[
    "changed",
    "arguments_changed",
    "result_missing_in_a",
    "result_missing_in_b",
    "missing_in_a",
    "missing_in_b",
    "files_changed",
]
Subject = Literal["system", "user", "assistant", "tool_call", "tool_result", "file_change"]
FileState = Literal["alike", "differs", "unchecked_in_a", "unchecked_in_b", "unchecked"]
"""What comparing the file-change steps found. A trajectory without one (imported, replayed) holds no file state: that is unchecked, and
neither a change nor a pass. `unchecked`: neither run has one."""

_MIRRORED: dict[str, str] = {
    "result_missing_in_a": "result_missing_in_b",
    "result_missing_in_b": "result_missing_in_a",
    "missing_in_a": "missing_in_b",
    "missing_in_b": "missing_in_a",
    "unchecked_in_a": "unchecked_in_b",
    "unchecked_in_b": "unchecked_in_a",
}


class ChangedStep(Value):
    """One side of a change.

    Attributes:
        subject: what it is: a message by its role, a tool call, a result that answers no call, or the file-change step.
        tool: the tool's name; None for a message and for files.
        steps: its step and, for a call that was answered, its result's; they need not be neighbours.
    """

    subject: Subject
    tool: str | None = None
    steps: tuple[int, ...]


class StepChange(Value):
    """One differing step; a call and its result are one.

    Attributes:
        kind: what differs; `changed` is another tool or another role at the same place.
        a, b: the two sides, None where it is missing.
        only_in_a, only_in_b: for `arguments_changed` the entries of the shape that one side alone has, such as `/cabin: string`; for
            `files_changed` the files, such as `modified notes.txt`.
        result_missing_in: the side whose call went unanswered while the other's was answered, whatever else differs between the two
            calls; None where both or neither have a result, and for anything but two calls.
    """

    kind: ChangeKind
    a: ChangedStep | None = None
    b: ChangedStep | None = None
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    result_missing_in: Literal["a", "b"] | None = None

    @property
    def mirrored(self) -> "StepChange":
        """The same change with its sides exchanged."""
        kind = _MIRRORED.get(self.kind, self.kind)
        missing_in = {"a": "b", "b": "a"}.get(str(self.result_missing_in))
        return self.with_changes(
            kind=kind, a=self.b, b=self.a, only_in_a=self.only_in_b, only_in_b=self.only_in_a, result_missing_in=missing_in
        )


class AlignedUnits(NamedTuple):
    """Units of both runs that stand on one line; `change` is the place in the list of changes, None where they are alike."""

    a: Unit | None
    b: Unit | None
    change: int | None


class TrajectoryDiff(Value):
    """How two trajectories differ in structure.

    Attributes:
        changes: every differing step, in order; a difference of the files comes last.
        file_state: what comparing the file-change steps found.
        lines: both trajectories side by side, without their file-change steps.
    """

    changes: tuple[StepChange, ...] = ()
    file_state: FileState = "unchecked"
    lines: tuple[AlignedUnits, ...] = ()

    @property
    def differing_steps(self) -> int:
        """How many steps differ, a call and its result counted once."""
        return len(self.changes)

    @property
    def first_divergence(self) -> StepChange | None:
        """The first change, or None where the structures are alike."""
        return self.changes[0] if self.changes else None

    @property
    def mirrored(self) -> "TrajectoryDiff":
        """The same difference with its sides exchanged: `diff_trajectories(b, a)`."""
        return self.with_changes(
            changes=tuple(change.mirrored for change in self.changes),
            file_state=_MIRRORED.get(self.file_state, self.file_state),
            lines=tuple(AlignedUnits(line.b, line.a, line.change) for line in self.lines),
        )


def diff_trajectories(a: Trajectory, b: Trajectory) -> TrajectoryDiff:
    """Return how trajectory `b` differs from `a` in roles, tool names and the shape of arguments; prose and values are ignored.

    It is empty exactly where the signatures agree (file state aside, where a side has none). The file-change steps are compared with each
    other, whatever stands before them; a trajectory without one makes that unchecked. `diff_trajectories(b, a)` is its mirror image.
    """
    units_a, units_b = units_of(a), units_of(b)
    changes: list[StepChange] = []
    lines: list[AlignedUnits] = []
    for pair in aligned([unit.token for unit in units_a], [unit.token for unit in units_b]):
        one = None if pair.a is None else units_a[pair.a]
        other = None if pair.b is None else units_b[pair.b]
        change = _change(one, other)
        lines.append(AlignedUnits(one, other, None if change is None else len(changes)))
        changes += [] if change is None else [change]
    file_state, of_files = _file_change(a, b)
    return TrajectoryDiff(changes=(*changes, *of_files), file_state=file_state, lines=tuple(lines))


def _change(a: Unit | None, b: Unit | None) -> StepChange | None:
    if a is None or b is None:
        return StepChange(kind="missing_in_a" if a is None else "missing_in_b", a=_side(a), b=_side(b))
    if a.token == b.token:
        return None
    change = StepChange(kind="changed", a=_side(a), b=_side(b), result_missing_in=_result_missing_in(a.token, b.token))
    if a.token[:2] != b.token[:2]:
        return change
    if a.token.arguments == b.token.arguments:
        return change.with_changes(kind=f"result_missing_in_{change.result_missing_in}")
    shape_a, shape_b = set(a.token.arguments), set(b.token.arguments)
    return change.with_changes(
        kind="arguments_changed", only_in_a=tuple(sorted(shape_a - shape_b)), only_in_b=tuple(sorted(shape_b - shape_a))
    )


def _result_missing_in(a: Token, b: Token) -> Literal["a", "b"] | None:
    if a.kind != "tool_call" or b.kind != "tool_call" or a.has_result == b.has_result:
        return None
    return "b" if a.has_result else "a"


def _side(unit: Unit | None) -> ChangedStep | None:
    if unit is None:
        return None
    token = unit.token
    if token.kind == "message":
        return ChangedStep.model_validate({"subject": token.name, "steps": unit.steps})
    return ChangedStep(subject=token.kind, tool=token.name, steps=unit.steps)


def _file_change(a: Trajectory, b: Trajectory) -> tuple[FileState, tuple[StepChange, ...]]:
    step_a, step_b = file_change_step(a), file_change_step(b)
    if step_a is None or step_b is None:
        return "unchecked" if step_a == step_b else "unchecked_in_a" if step_a is None else "unchecked_in_b", ()
    files_a, files_b = set(files_shape(a) or ()), set(files_shape(b) or ())
    if files_a == files_b:
        return "alike", ()
    change = StepChange(
        kind="files_changed",
        a=ChangedStep(subject="file_change", steps=(step_a,)),
        b=ChangedStep(subject="file_change", steps=(step_b,)),
        only_in_a=tuple(f"{kind} {path}" for path, kind in sorted(files_a - files_b)),
        only_in_b=tuple(f"{kind} {path}" for path, kind in sorted(files_b - files_a)),
    )
    return "differs", (change,)
