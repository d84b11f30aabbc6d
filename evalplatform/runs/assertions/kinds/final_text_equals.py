"""`final_text_equals: DONE`: the agent's final message is the text, white space around both aside."""

from evalplatform.runs.assertions.arguments import SomeText
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, no_final_message
from evalplatform.runs.assertions.json_text import shown_text


def _check(wanted: str, facts: RunFacts) -> Finding:
    text = facts.trajectory.final_text
    if text is None:
        return no_final_message(facts.trajectory)
    return PASSED if text.strip() == wanted.strip() else failed(f"the final message is {shown_text(text)}")


assertion_kinds.register("final_text_equals")(
    AssertionKind(SomeText, "The agent's final message is the text, white space around both aside.", _check)
)
