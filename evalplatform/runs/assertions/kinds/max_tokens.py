"""`max_tokens: 5000`: the run used at most so many tokens, prompt and completion together."""

from evalplatform.runs.assertions.arguments import WholeCount
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked


def _check(limit: int, facts: RunFacts) -> Finding:
    count = facts.usage.total_tokens
    if count is None:
        return unchecked("how many tokens the run used is not known")
    return PASSED if count <= limit else failed(f"{count:,} tokens")


assertion_kinds.register("max_tokens")(
    AssertionKind(WholeCount, "The run used at most so many tokens, prompt and completion together.", _check)
)
