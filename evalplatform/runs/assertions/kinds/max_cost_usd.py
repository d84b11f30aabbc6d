"""`max_cost_usd: 0.05`: the run cost at most so many US dollars."""

from evalplatform.runs.assertions.arguments import Amount
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked


def _check(limit_usd: float, facts: RunFacts) -> Finding:
    if facts.cost_usd is None:
        return unchecked("what the run cost is not known")
    return PASSED if facts.cost_usd <= limit_usd else failed(f"${facts.cost_usd:,.6g}")


assertion_kinds.register("max_cost_usd")(AssertionKind(Amount, "The run cost at most so many US dollars.", _check))
