"""The project's own agent: a cell under one arm, asked a scenario's messages turn by turn through the call desk.

A turn is asked as one question of a suite is: with what the arm adds for that message, and before it the conversation so far, as its user
and its model said it. So the one-message scenario of a cell and an arm is the very request that a suite would send.
"""

from dataclasses import dataclass, field

from evalplatform.answering.prompts import answer_messages, joined_context
from evalplatform.arms.treatment import Treatment
from evalplatform.calls.ask import Asker
from evalplatform.kernel.errors import CallError, HarnessError, RetrievalError, UnusableReplyError
from evalplatform.kernel.usage import summed_usage, whole_sum
from evalplatform.plugins.plugin_set import NO_PLUGINS, PluginSet
from evalplatform.plugins.wrapping import wrapped_config
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.ledger import LedgerRow
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling
from evalplatform.ports.run_limits import within_limits
from evalplatform.questions.records import Question
from evalplatform.runs.trajectory import MessageStep, Trajectory


@dataclass(frozen=True, kw_only=True)
class ModelAgentRunner:
    """Runs one cell under one arm.

    Its runs are draws of the cell: run n of a scenario is draw n of its requests. A finished call of the batch is in the ledger, so a
    batch that is gone on with repeats none.

    Args:
        agent: the identity: cell key and arm.
        model, provider, base_url, sampling: who is asked, and how.
        treatment: the opened arm.
        plugins: what modifies it.
        asker: where calls go; its scope is the batch's.
        concurrency: how many runs at once.
    """

    agent: str
    model: str
    provider: str
    base_url: str | None
    sampling: Sampling
    treatment: Treatment
    asker: Asker
    concurrency: int
    plugins: PluginSet = NO_PLUGINS

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return the conversation; see `ports.agent_runner.AgentRunner`.

        A call that got no reply after all its retries is a HarnessError: the model never had its say. A reply that is none, or empty, is
        an `agent_error`, and an empty one at the token limit a `budget_stop`. Its seconds are those of its calls as the ledger has them:
        waiting for a slot counts for no limit, a call that is paid for is never given up, and a replayed run took what it took before.
        """
        return await _Conversation(self, request).whole()

    async def aclose(self) -> None:
        """Nothing of its own is open: who opened desk and arm closes them."""


@dataclass
class _Conversation:
    runner: ModelAgentRunner
    request: AgentRequest
    steps: list[MessageStep] = field(default_factory=list)
    rows: list[LedgerRow] = field(default_factory=list)

    async def whole(self) -> AgentReply:
        """Ask turn by turn, as far as the run's limits let it."""
        for message in self.request.messages:
            asked = await self._turn(message)
            self.steps.append(MessageStep(role="user", text=message))
            try:
                outcome = await self.runner.asker.ask(asked, purpose="answer", draw=self.request.order)
            except UnusableReplyError as error:
                return self.reply("agent_error", f"{error.reason}: {error}")
            except CallError as error:
                raise HarnessError(error.reason, str(error)) from error
            self.rows.append(outcome.row)
            said = outcome.row.reply
            if not said.text.strip():
                self.steps.append(MessageStep(role="assistant", text=""))
                return self._without_answer(said)
            self.steps.append(MessageStep(role="assistant", text=self.runner.plugins.shaped_answer(said.text)))
            reply = within_limits(self.reply("finished", None), self.request)
            if reply.ended != "finished":
                return reply
        return self.reply("finished", None)

    def reply(self, ended: str, reason: str | None) -> AgentReply:
        """Return the run as far as it came."""
        return AgentReply.model_validate(
            {
                "trajectory": Trajectory(steps=tuple(self.steps)),
                "ended": ended,
                "reason": reason,
                "usage": summed_usage([row.reply.usage for row in self.rows]),
                "cost_usd": whole_sum(row.cost_usd for row in self.rows),
                "seconds": sum(row.reply.latency_seconds for row in self.rows),
            }
        )

    async def _turn(self, message: str) -> ModelRequest:
        """Return the request of one turn: what the arm adds for its message, after what was said before."""
        runner = self.runner
        try:
            config = wrapped_config(await runner.treatment.prepare(Question(id=self.request.scenario_id, question=message)), runner.plugins)
        except RetrievalError as error:
            raise HarnessError(error.reason, str(error)) from error
        messages = answer_messages(message, context=joined_context(config), system_prompt=config.system_prompt)
        earlier = tuple(Message(role=step.role, content=step.text) for step in self.steps)
        return ModelRequest(
            provider=runner.provider,
            base_url=runner.base_url,
            model=runner.model,
            messages=(*messages[:-1], *earlier, messages[-1]),
            sampling=runner.sampling,
        )

    def _without_answer(self, said: ModelReply) -> AgentReply:
        if said.finish_reason == "length":
            return self.reply("budget_stop", "no_answer: the model spent its tokens before it answered.")
        why = "its provider's content filter stopped it" if said.finish_reason == "content_filter" else "its reply is empty"
        return self.reply("agent_error", f"no_answer: {why}.")
