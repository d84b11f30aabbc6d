"""What an assertion is: a kind, an argument in JSON, and a pure function of the facts of one run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import JsonValue, TypeAdapter

from evalplatform.kernel.registry import Registry
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.runs.trajectory import FileChangeStep, ToolCallStep, Trajectory

A = TypeVar("A")


class RunFacts(Value):
    """What is known of one run when it is graded.

    Attributes:
        trajectory: its steps, as far as it came.
        usage, cost_usd, seconds: what it took; None where unknown, and what asks for it is then unchecked.
    """

    trajectory: Trajectory
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float | None = None

    @property
    def file_changes(self) -> FileChangeStep | None:
        """The file-change step, or None: an imported or replayed trace holds no file state."""
        return next((step for step in reversed(self.trajectory.steps) if isinstance(step, FileChangeStep)), None)


class Finding(NamedTuple):
    """What an assertion found. `detail` says what was found instead, or why nothing could be checked; None where it passed."""

    state: Literal["passed", "failed", "unchecked"]
    detail: str | None = None


PASSED = Finding("passed")


def failed(detail: str) -> Finding:
    """Return the finding of an assertion that does not hold."""
    return Finding("failed", detail)


def no_final_message(trajectory: Trajectory) -> Finding:
    """Return the finding of an assertion on the final message of a run that has none; it says why there is none."""
    last_call = next((step for step in reversed(trajectory.steps) if isinstance(step, ToolCallStep)), None)
    after = "" if last_call is None else f": no message of its own follows its last tool call, of {last_call.tool}"
    return failed(f"the agent wrote no final message{after}")


def unchecked(detail: str) -> Finding:
    """Return the finding of an assertion that the run holds nothing to check by."""
    return Finding("unchecked", detail)


@dataclass(frozen=True)
class AssertionKind(Generic[A]):
    """One kind of assertion.

    Attributes:
        argument_type: what it is given, as a type that pydantic checks; its JSON Schema is published with that of the scenario file.
        description: one sentence for that schema.
        check: the pure function that grades; it never raises.
    """

    argument_type: Any
    description: str
    check: Callable[[A, RunFacts], Finding]

    @cached_property
    def adapter(self) -> TypeAdapter[A]:
        """The checker of arguments."""
        return TypeAdapter(self.argument_type)

    def finding(self, argument: JsonValue, facts: RunFacts) -> Finding:
        """Return what the assertion finds in a run.

        Raises:
            ValidationError: the argument is none of this kind's; a scenario file's arguments are checked when it is loaded.
        """
        return self.check(self.adapter.validate_python(argument), facts)


assertion_kinds: Registry[AssertionKind[Any]] = Registry(
    "assertion_kinds", noun="assertion", kinds_package="evalplatform.runs.assertions.kinds"
)
