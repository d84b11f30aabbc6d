"""What answering leaves behind: one row per question, arm and draw."""

from typing import Literal

from pydantic import Field, JsonValue

from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value

AnswerState = Literal["answered", "no_answer", "failed"]

PREPARE_FAILED = "prepare_failed"
"""How the reason of a row starts whose treatment could not be prepared: its documents could not be retrieved."""


class ContextChunk(Value):
    """A retrieved chunk as the record keeps it: at most 200 characters and an ellipsis.

    A file of another tool may not say its relevance.
    """

    source: str
    snippet: str
    relevance_score: float | None


class ArmAnswer(Value):
    """One arm's answer to one question in one draw.

    `reason` is None when answered; else `no_answer:budget` (the model spent its tokens before answering), `no_answer:filtered`,
    `no_answer:empty`, `prepare_failed: ...`, `generation_failed: ...` or `not_asked: ...`. A failed row keeps its metadata; its usage is
    unknown.

    `material_digest`, `context_digest` and `system_prompt_digest` name texts that are kept once each beside the answers; with the question
    they give back the exact prompt. `material_digest` is None only when preparing failed. `same_call` says that another arm of the run
    sent the very same request, so that one ledger row answered both. `raw_answer` is what the model wrote, and set only in a cell with an
    output shaper: `answer` is then what a user would see, while usage and cost are the model's.
    """

    question_id: str
    arm: str
    draw: int = Field(ge=0)
    state: AnswerState
    answer: str | None
    raw_answer: str | None = None
    reason: str | None = None
    request_digest: str | None = None
    material_digest: str | None = None
    context_digest: str | None = None
    system_prompt_digest: str | None = None
    used_system_prompt: bool = False
    same_call: bool = False
    context_chunks: tuple[ContextChunk, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls: int = 0
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class CallTiming(Value):
    """How long the call behind one row took. Kept apart from the answers, so that equal replies give byte-equal answer files.

    `replayed` is true when the reply came from the ledger; its latency is then that of the call when it was paid for.
    """

    question_id: str
    arm: str
    draw: int
    latency_seconds: float | None
    time_to_first_token_seconds: float | None
    replayed: bool
