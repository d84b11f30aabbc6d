"""`call_order: [find_order, issue_refund]`: the tools were called in this order; other calls may stand between."""

from typing import Annotated

from pydantic import Field

from evalplatform.runs.assertions.arguments import ToolName
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed


def _check(wanted: tuple[str, ...], facts: RunFacts) -> Finding:
    called = iter(facts.trajectory.tools)
    for place, tool in enumerate(wanted):
        if tool not in called:  # reads on from the call that the tool before was found at
            after = f" after {' → '.join(wanted[:place])}" if place else ""
            return failed(f"{tool} was not called{after}")
    return PASSED


assertion_kinds.register("call_order")(
    AssertionKind(
        Annotated[tuple[ToolName, ...], Field(min_length=2)],
        "The agent called the tools in this order; other calls may stand between.",
        _check,
    )
)
