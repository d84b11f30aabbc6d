"""What a suite would ask, resolved to the last prompt, without a model call."""

from collections.abc import Mapping, Sequence

from evalplatform.answering.prompts import answer_messages, joined_context
from evalplatform.arms.treatment import Treatment
from evalplatform.calls.ask import CallOutcome
from evalplatform.calls.budget import ASSUMED_COMPLETION_TOKENS, CHARS_PER_TOKEN, estimated_usage
from evalplatform.calls.desk import SHARED_SCOPE, CallDesk
from evalplatform.calls.request_digest import request_digest
from evalplatform.judging.judge import judge_kinds
from evalplatform.judging.probe import probe_pinned_judge
from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.errors import RetrievalError, UnusableReplyError
from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.kernel.values import Value
from evalplatform.plugins.plugin_set import stamped_plugins
from evalplatform.plugins.wrapping import wrapped_config
from evalplatform.ports.ledger import CallKey, Purpose
from evalplatform.ports.model_client import ModelRequest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import Question
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import open_treatments
from evalplatform.stages.judged_scores import judge_task
from evalplatform.stages.question_set import current_questions

DrawnCall = tuple[str, int]
"""A request's digest, and the draw."""


class PlannedCalls(Value):
    """The calls of one stage. Token counts and price are estimates, of the calls that are still to be asked.

    `calls` counts distinct requests (and draws): two arms that send the same prompt are asked once. `finished` of them are in the ledger,
    and `shared` are asked by what stands before in the plan, such as those of a cell whose plugins only shape answers. `price_usd` is None
    when no price is known. `unprepared` counts the questions whose retrieval failed.
    """

    who: str
    key: str
    calls: int
    finished: int
    shared: int = 0
    prompt_tokens: int
    completion_tokens_most: int
    price_usd: float | None
    unprepared: int = 0

    @property
    def to_ask(self) -> int:
        """The calls that nobody else makes."""
        return self.calls - self.finished - self.shared


class PlannedBefore:
    """The calls that a plan has counted already: what several cells ask alike is asked once."""

    def __init__(self) -> None:
        self._calls: set[DrawnCall] = set()

    def is_new(self, call: DrawnCall) -> bool:
        """Note a call, and say whether it was not known."""
        if call in self._calls:
            return False
        self._calls.add(call)
        return True


class SpendCap(Value):
    """A suite's spend cap. Each run has it for itself: that of a cell's answers, and that of a cell's scores under a judge.

    `runs` counts those of a plan that have something to ask.
    """

    max_cost_usd_per_run: float
    runs: int

    @property
    def most_usd(self) -> float:
        """What all the runs together may pay."""
        return self.max_cost_usd_per_run * self.runs


class SuitePlan(Value):
    """A suite, resolved: nothing in it is misspelt, every file is readable, and this is what it would ask.

    `warnings` are sentences about the question set, then about the arms' files.
    """

    suite: str
    questions: int
    arms: tuple[str, ...]
    draws: int
    answers: tuple[PlannedCalls, ...]
    judgements: tuple[PlannedCalls, ...]
    warnings: tuple[str, ...] = ()
    spend_cap: SpendCap | None = None

    @property
    def price_usd(self) -> float | None:
        """The price of all that is to be asked, each call once; None when some of it is unknown."""
        prices = [planned.price_usd for planned in (*self.answers, *self.judgements)]
        return None if None in prices else (known_sum(prices) or 0.0)


async def plan_suite(context: SuiteContext) -> SuitePlan:
    """Resolve a suite and count its calls. Documents are read and retrieved from; no model is asked.

    Raises:
        InputError: whatever is wrong with the project, the questions, the arms or their files.
        MissingSecretError: an endpoint's key is not in the environment.
        RetrievalError: a document source does not answer.
    """
    questions = current_questions(context)
    answers: list[PlannedCalls] = []
    judgements: list[PlannedCalls] = []
    judges = context.project.judges_of(context.suite_id)
    before = PlannedBefore()
    async with open_treatments(context) as opened:
        for cell in context.project.cells_of(context.suite_id):
            planned, tasks = await planned_answers(context, cell, questions.questions, opened.treatments, before)
            answers.append(planned)
            judgements += [await planned_judgements(context, cell, judge, tasks, before) for judge in judges]
    return SuitePlan(
        suite=context.suite_id,
        questions=len(questions.questions),
        arms=tuple(arm.name for arm in opened.arms),
        draws=context.suite.draws,
        answers=tuple(answers),
        judgements=tuple(judgements),
        warnings=(*questions.warnings, *opened.warnings),
        spend_cap=spend_cap(context, [*answers, *judgements]),
    )


def spend_cap(context: SuiteContext, planned: Sequence[PlannedCalls]) -> SpendCap | None:
    """Return the suite's spend cap with the number of runs that it holds for, or None where there is none."""
    cap_usd = context.project.max_cost_usd(context.suite_id)
    runs = sum(calls.to_ask > 0 for calls in planned)
    return None if cap_usd is None else SpendCap(max_cost_usd_per_run=cap_usd, runs=runs)


async def planned_answers(
    context: SuiteContext,
    cell: Cell,
    questions: Sequence[Question],
    treatments: Sequence[tuple[str, Treatment]],
    before: PlannedBefore,
) -> tuple[PlannedCalls, list[JudgeTask]]:
    """Count a cell's calls by preparing every prompt, and return what a judge would be given of the answers."""
    calls: dict[DrawnCall, ModelRequest] = {}
    tasks: list[JudgeTask] = []
    unprepared = 0
    plugins = stamped_plugins(cell.plugins)
    async with context.open_desk(cell.endpoint) as desk:
        for question in questions:
            for _, treatment in treatments:
                try:
                    config = wrapped_config(await treatment.prepare(question), plugins)
                except RetrievalError:
                    unprepared += 1
                    continue
                messages = answer_messages(question.question, context=joined_context(config), system_prompt=config.system_prompt)
                request = ModelRequest(
                    provider=cell.provider, base_url=cell.base_url, model=cell.model, messages=messages, sampling=cell.sampling
                )
                digest = request_digest(request)
                for draw in range(context.suite.draws):
                    calls[digest, draw] = request
                    row = await desk.ledger.find(_key(digest, draw))
                    answer = plugins.shaped_answer(_stand_in(request, digest, draw) if row is None else row.reply.text)
                    tasks.append(judge_task(str(len(tasks)), question, answer=answer, draw=draw, material=config.material.text))
        return await _planned(desk, cell.id, cell.key, calls, before, unprepared=unprepared), tasks


async def planned_judgements(
    context: SuiteContext, cell: Cell, judge: JudgeCell, tasks: Sequence[JudgeTask], before: PlannedBefore
) -> PlannedCalls:
    """Count a judge's calls by letting it build its requests.

    An answer not given yet stands as a text of the longest length, another for every call: answers to other prompts are other answers.
    """
    noting = _NotingAsker()
    await probe_pinned_judge(judge.settings, asker=noting)
    built = judge_kinds.get(judge.settings.kind)(judge.settings, asker=noting)
    for task in tasks:
        await built.judge(task)
    async with context.open_desk(judge.endpoint) as desk:
        return await _planned(desk, f"{judge.id} of {cell.id}", f"{cell.key}/{judge.key}", noting.calls, before)


class _NotingAsker:
    """Notes what a judge would ask, and answers nothing."""

    def __init__(self) -> None:
        self.calls: dict[DrawnCall, ModelRequest] = {}

    async def ask(self, request: ModelRequest, *, purpose: Purpose, draw: int = 0, attempt: int = 0) -> CallOutcome:
        self.calls[request_digest(request), draw] = request
        raise UnusableReplyError("planned", "Nothing is asked while planning.")


async def _planned(
    desk: CallDesk, who: str, key: str, calls: Mapping[DrawnCall, ModelRequest], before: PlannedBefore, *, unprepared: int = 0
) -> PlannedCalls:
    prices: list[float | None] = []
    usages: list[Usage] = []
    finished = 0
    for (digest, draw), request in calls.items():
        if await desk.ledger.find(_key(digest, draw)) is not None:
            finished += 1
        elif before.is_new((digest, draw)):
            usages.append(estimated_usage(request))
            prices.append(desk.endpoint.prices.cost_usd(request.provider, request.model, usages[-1]))
    return PlannedCalls(
        who=who,
        key=key,
        calls=len(calls),
        finished=finished,
        shared=len(calls) - finished - len(usages),
        prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
        completion_tokens_most=sum(usage.completion_tokens or 0 for usage in usages),
        price_usd=None if None in prices else (known_sum(prices) or 0.0),
        unprepared=unprepared,
    )


def _key(digest: str, draw: int) -> CallKey:
    return CallKey(scope=SHARED_SCOPE, request_digest=digest, draw=draw)


def _stand_in(request: ModelRequest, digest: str, draw: int) -> str:
    """Return a text as long as the longest reply, and its own for every call, also where only its first characters are left."""
    own = f"{digest.removeprefix('sha256:')} {draw} "
    chars = CHARS_PER_TOKEN * (request.sampling.max_tokens or ASSUMED_COMPLETION_TOKENS)
    return own.ljust(chars, "x")[: max(chars, 1)]
