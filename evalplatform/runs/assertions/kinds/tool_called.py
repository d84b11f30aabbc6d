"""`tool_called: issue_refund`: the agent called the tool at least once."""

from evalplatform.runs.assertions.arguments import ToolName
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed


def _check(tool: str, facts: RunFacts) -> Finding:
    return PASSED if tool in facts.trajectory.tools else failed(f"{tool} was never called")


assertion_kinds.register("tool_called")(AssertionKind(ToolName, "The agent called the tool at least once.", _check))
