"""`max_steps: 12`: the trajectory has at most so many steps; the file-change step, which a runner adds, does not count."""

from evalplatform.runs.assertions.arguments import WholeCount
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed
from evalplatform.runs.trajectory import FileChangeStep


def _check(limit: int, facts: RunFacts) -> Finding:
    count = sum(not isinstance(step, FileChangeStep) for step in facts.trajectory.steps)
    return PASSED if count <= limit else failed(f"{count:,} steps")


assertion_kinds.register("max_steps")(
    AssertionKind(WholeCount, "The trajectory has at most so many steps: messages, tool calls and tool results.", _check)
)
