"""`tool_called_with`: one call of the tool has arguments that match, each named by a JSON pointer."""

from collections.abc import Iterator

from pydantic import Field, JsonValue

from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.runs.assertions.arguments import ToolName
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked
from evalplatform.runs.assertions.json_pointer import JsonPointer, value_at
from evalplatform.runs.assertions.json_text import NotJsonTextError, json_of
from evalplatform.runs.assertions.matchers import GivenMatcher, UndecidedMatchError
from evalplatform.runs.trajectory import ToolCallStep


class ToolCalledWith(Value):
    """A tool, and what its arguments must be at each JSON pointer; all of them in one and the same call."""

    tool: ToolName
    arguments: dict[JsonPointer, GivenMatcher] = Field(min_length=1)


def _check(wanted: ToolCalledWith, facts: RunFacts) -> Finding:
    calls = [
        (number, step)
        for number, step in enumerate(facts.trajectory.steps, start=1)
        if isinstance(step, ToolCallStep) and step.tool == wanted.tool
    ]
    if not calls:
        return failed(f"{wanted.tool} was never called")
    nearest: tuple[int, str] | None = None
    undecided: str | None = None
    for number, call in calls:
        try:
            wrong = list(_mismatches(wanted, call))
        except UndecidedMatchError as error:
            undecided = undecided or f"step {number}: {error}"
            continue
        if not wrong:
            return PASSED
        if nearest is None or len(wrong) < nearest[0]:
            nearest = len(wrong), f"step {number}: {wrong[0]}"
    if undecided is not None:
        return unchecked(undecided)
    assert nearest is not None  # each call was either undecided or a mismatch
    return failed(nearest[1] if len(calls) == 1 else f"none of {plural(len(calls), 'call')} matches; nearest, {nearest[1]}")


def _mismatches(wanted: ToolCalledWith, call: ToolCallStep) -> Iterator[str]:
    try:
        document: JsonValue = json_of(call.arguments_text)
    except NotJsonTextError as error:
        # Fewer rules than this cannot hold, so a call with readable arguments is always the nearer one.
        yield from [f"its arguments are no JSON: {error}"] * (len(wanted.arguments) + 1)
        return
    for pointer, matcher in wanted.arguments.items():
        wrong = matcher.mismatch(value_at(document, pointer))
        if wrong is not None:
            yield f"{pointer or 'the whole'} {wrong}"


assertion_kinds.register("tool_called_with")(
    AssertionKind(ToolCalledWith, "One call of the tool has arguments that match at every JSON pointer.", _check)
)
