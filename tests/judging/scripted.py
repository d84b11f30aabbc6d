"""A model that says what a test wrote, behind the real call desk."""

import json
from collections.abc import Callable

from evalplatform.calls.breaker import CircuitBreaker
from evalplatform.calls.budget import Budget
from evalplatform.calls.desk import CallDesk, Endpoint
from evalplatform.calls.limiter import EndpointLimiter, Limits
from evalplatform.judging.judge import JudgeSettings
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import ModelReply, ModelRequest, Sampling
from tests.support.doubles import HandClock, MemoryLedger, UnitPrices

GOOD = {"correctness": 90, "completeness": 80, "specificity": 10, "code_quality": 70, "actionability": 60, "aggregate": 1}
GROUNDED = {**GOOD, "factual_grounding": 50}

Saying = str | Exception | dict[str, object]


class ScriptedModel:
    """Gives its sayings in order, the last one for ever; an exception is raised. `prompts` holds every request."""

    def __init__(self, *sayings: Saying | Callable[[ModelRequest], Saying], usage: Usage | None = None) -> None:
        self._sayings = list(sayings)
        self._usage = usage or Usage(prompt_tokens=100, completion_tokens=10)
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        saying = self._sayings.pop(0) if len(self._sayings) > 1 else self._sayings[0]
        if callable(saying):
            saying = saying(request)
        if isinstance(saying, Exception):
            raise saying
        text = saying if isinstance(saying, str) else json.dumps(saying)
        return ModelReply(text=text, finish_reason="stop", usage=self._usage, latency_seconds=0.1)

    async def aclose(self) -> None: ...

    @property
    def prompts(self) -> list[str]:
        return [request.prompt_text() for request in self.requests]


def desk_for(
    model: ScriptedModel, *, usd_per_token: float | None = 0.001, cap_usd: float | None = None, ledger: MemoryLedger | None = None
) -> CallDesk:
    clock = HandClock()
    ledger = ledger or MemoryLedger()
    prices = UnitPrices(usd_per_token=usd_per_token)
    return CallDesk(
        endpoint=Endpoint(
            client=model, limiter=EndpointLimiter(Limits(max_concurrent=64), clock=clock), breaker=CircuitBreaker(), prices=prices
        ),
        ledger=ledger,
        clock=clock,
        project="p",
        run_id="run-1",
        budget=None if cap_usd is None else Budget(cap_usd, run_id="run-1", ledger=ledger),
    )


def rubric_settings(*, rubric: str | None = None, from_topics: bool = False, **sampling: object) -> JudgeSettings:
    return JudgeSettings(
        kind="rubric",
        provider="test",
        model="judge-1",
        rubric=rubric,
        grounded_from_topics=from_topics,
        sampling=Sampling.model_validate(sampling),
    )
