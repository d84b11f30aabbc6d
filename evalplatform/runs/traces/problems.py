"""What is wrong with a recorded trace and does not stop its import: named, placed and counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from evalplatform.kernel.values import Value
from evalplatform.runs.traces.content import whole_text

MAX_PROBLEMS_NAMED = 3

ProblemKind = Literal[
    "arguments_not_json",
    "broken_text",
    "call_without_result",
    "cut_stream",
    "history_rewritten",
    "large_message",
    "length_limit",
    "missing_content",
    "model_call_failed",
    "nested_agent",
    "part_not_kept",
    "repeated_argument",
    "repeated_tool_run",
    "reply_superseded",
    "reused_call_id",
    "secret_blanked",
    "unfinished_log",
    "unfinished_span",
    "unordered_spans",
    "unstated_trial",
    "verdict_disagrees",
]
PROBLEM_WORDS: dict[ProblemKind, str] = {
    "arguments_not_json": "the arguments of a call are no JSON",
    "broken_text": "a text holds half a character; it was written as U+FFFD",
    "call_without_result": "a call has no result",
    "cut_stream": "the stream ends before its reply does",
    "history_rewritten": "the model was sent another wording of what was said; what it was sent stands",
    "large_message": "a message is over 1 MB; it is kept whole",
    "length_limit": "a reply was cut at the token limit",
    "missing_content": "a message has no content",
    "model_call_failed": "a call of the model failed",
    "nested_agent": "what an agent did inside a tool is left out; the tool's result stands for it",
    "part_not_kept": "a part of a message is no text; a placeholder stands for it",
    "repeated_argument": "the arguments of a call name a key twice",
    "repeated_tool_run": "a tool was run again for the same call; the first result stands",
    "reply_superseded": "the model was asked the same again; the reply that the conversation went on from stands",
    "reused_call_id": "a call uses the id of an earlier call that was answered; it was renamed",
    "secret_blanked": "it held a key that the agent was given, which was blanked",
    "unfinished_log": "the log's evaluation did not come to its end",
    "unfinished_span": "a span has no end",
    "unordered_spans": "spans state no time; they are in the order of the file",
    "unstated_trial": "no trial is stated, as others of the scenario do; the run has the first free number",
    "verdict_disagrees": "the verdict and the reward disagree; the verdict stands",
}


# What a trace says is quoted in it, and no half character of it may keep a run out of a bundle.
QuotedText = Annotated[str, AfterValidator(whole_text)]


class TraceProblem(Value):
    """One problem. `step` is the 1-based step of the trajectory it is at; None where it is the whole run's."""

    kind: ProblemKind
    step: int | None = Field(default=None, ge=1)
    detail: QuotedText | None = None

    @property
    def words(self) -> str:
        """The problem as a short clause with its place."""
        place = "" if self.step is None else f"step {self.step}: "
        detail = "" if self.detail is None else f" ({self.detail})"
        return f"{place}{PROBLEM_WORDS[self.kind]}{detail}"


def problems_named(problems: Sequence[TraceProblem]) -> str:
    """Return the first three problems as words, and how many more there are."""
    named = "; ".join(problem.words for problem in problems[:MAX_PROBLEMS_NAMED])
    rest = len(problems) - MAX_PROBLEMS_NAMED
    return f"{named}{f'; and {rest:,} more' if rest > 0 else ''}"


def problem_counts(problems: Iterable[TraceProblem]) -> dict[ProblemKind, int]:
    """Return how often each kind of problem occurs, kinds in alphabetical order; kinds that do not occur are left out."""
    counts = Counter(problem.kind for problem in problems)
    return {kind: counts[kind] for kind in PROBLEM_WORDS if counts[kind]}
