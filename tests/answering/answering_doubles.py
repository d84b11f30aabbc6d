"""An asker that answers from a script, and a treatment that adds what it is told to."""

from datetime import UTC, datetime

from evalplatform.arms.treatment import AgentConfig
from evalplatform.calls.ask import CallOutcome
from evalplatform.calls.request_digest import request_digest
from evalplatform.kernel.errors import RetrievalError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import CallKey, LedgerRow, Purpose
from evalplatform.ports.model_client import ModelReply, ModelRequest
from evalplatform.questions.records import Question

Ending = ModelReply | Exception


def reply(text: str, finish_reason: str = "stop") -> ModelReply:
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    return ModelReply.model_validate({"text": text, "finish_reason": finish_reason, "usage": usage, "latency_seconds": 0.5})


class ScriptedAsker:
    """Ends a call by the first script entry whose word stands in the prompt; else by `otherwise`.

    No cost is known of a prompt in which the word `unpriced` stands.
    """

    def __init__(self, script: dict[str, Ending] | None = None, *, otherwise: Ending | None = None, replayed: bool = False) -> None:
        self.script = script or {}
        self.otherwise = otherwise or reply("An answer.")
        self.replayed = replayed
        self.unpriced: str | None = None
        self.asked: list[tuple[ModelRequest, int]] = []

    async def ask(self, request: ModelRequest, *, purpose: Purpose, draw: int = 0, attempt: int = 0) -> CallOutcome:
        assert purpose == "answer"
        self.asked.append((request, draw))
        prompt = request.prompt_text()
        ending = next((ending for word, ending in self.script.items() if word in prompt), self.otherwise)
        if isinstance(ending, Exception):
            raise ending
        row = LedgerRow(
            key=CallKey(scope="shared", request_digest=request_digest(request), draw=draw),
            project="p",
            run_id="r",
            purpose=purpose,
            provider=request.provider,
            model=request.model,
            reply=ending,
            cost_usd=None if self.unpriced is not None and self.unpriced in prompt else 0.25,
            price_table="t",
            finished_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        return CallOutcome(row=row, replayed=self.replayed)


class Adds:
    """A treatment that adds one config to every question, or fails to."""

    kind = "test"
    name = "test"

    def __init__(self, config: AgentConfig | None = None, *, fails: bool = False) -> None:
        self.config = config or AgentConfig()
        self.fails = fails

    async def open(self) -> dict[str, str]:
        return {}

    async def prepare(self, question: Question) -> AgentConfig:
        if self.fails:
            raise RetrievalError("the source went away.")
        return self.config

    async def aclose(self) -> None: ...
