r"""`final_text_matches: 'refund of \$\d+'`: the regular expression is found in the agent's final message."""

from evalplatform.runs.assertions.arguments import Pattern
from evalplatform.runs.assertions.assertion import (
    PASSED,
    AssertionKind,
    Finding,
    RunFacts,
    assertion_kinds,
    failed,
    no_final_message,
    unchecked,
)
from evalplatform.runs.assertions.json_text import shown_text
from evalplatform.runs.pattern_search import text_found


def _check(pattern: str, facts: RunFacts) -> Finding:
    text = facts.trajectory.final_text
    if text is None:
        return no_final_message(facts.trajectory)
    found = text_found(pattern, text)
    if found is None:
        return unchecked("the pattern took too long to search for in the final message")
    return PASSED if found else failed(f"the final message is {shown_text(text)}")


assertion_kinds.register("final_text_matches")(
    AssertionKind(Pattern, "The regular expression (Python's syntax) is found in the agent's final message.", _check)
)
