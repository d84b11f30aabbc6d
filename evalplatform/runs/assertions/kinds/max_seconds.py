"""`max_seconds: 30`: the run took at most so many seconds."""

from evalplatform.runs.assertions.arguments import Amount
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked


def _check(limit_seconds: float, facts: RunFacts) -> Finding:
    if facts.seconds is None:
        return unchecked("how long the run took is not known")
    return PASSED if facts.seconds <= limit_seconds else failed(f"{facts.seconds:,.6g} seconds")


assertion_kinds.register("max_seconds")(AssertionKind(Amount, "The run took at most so many seconds.", _check))
