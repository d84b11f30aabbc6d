"""`tool_not_called: issue_refund`: the agent never called the tool."""

from evalplatform.runs.assertions.arguments import ToolName
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed
from evalplatform.runs.trajectory import ToolCallStep


def _check(tool: str, facts: RunFacts) -> Finding:
    numbered = enumerate(facts.trajectory.steps, start=1)
    first = next((number for number, step in numbered if isinstance(step, ToolCallStep) and step.tool == tool), None)
    return PASSED if first is None else failed(f"{tool} was called at step {first}")


assertion_kinds.register("tool_not_called")(AssertionKind(ToolName, "The agent never called the tool.", _check))
