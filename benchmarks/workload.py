"""The work that is measured: a project of one suite over the model server, and the very requests that it makes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from benchmarks.processes import ModelServer, model_server
from benchmarks.sizes import Size
from evalplatform.adapters.models.chat_completions import ChatCompletions
from evalplatform.answering.run import AnswerPlan, answer_cell
from evalplatform.calls.desk import CallDesk
from evalplatform.calls.progress import ProgressMeter
from evalplatform.judging.judge import judge_kinds
from evalplatform.judging.run import judge_all
from evalplatform.ports.model_client import ModelClient, ModelReply, ModelRequest
from evalplatform.project.load import Project, load_project
from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import QuestionSet
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import open_treatments
from evalplatform.stages.judged_scores import judge_tasks
from evalplatform.wiring import OpenedProject

SUITE = "bench"

PROJECT_FILE = """\
version: 1
project: bench
endpoints:
  server:
    provider: openai-compatible
    base_url: {url}
    limits: {{max_concurrent: {concurrency}}}
cells:
  cell: {{model: answering-model, endpoint: server}}
judges:
  judge: {{kind: rubric, model: judging-model, endpoint: server}}
products:
  bench: {{}}
suites:
  bench:
    product: bench
    questions: questions.json
    arms: [baseline]
    cells: [cell]
    judges: [judge]
"""


@dataclass(frozen=True)
class Workload:
    """A project folder, the server that it asks, and files of the request bodies of its answers and its judgements, one body a line."""

    folder: Path
    server: ModelServer
    size: Size
    answer_bodies: Path
    judge_bodies: Path

    @property
    def bytecode(self) -> Path | None:
        """Where measured processes keep compiled modules, or None where that is left to the environment."""
        return self.folder / "bytecode" if self.size.compiles_first else None

    @property
    def stages(self) -> tuple[list[bytes], list[bytes]]:
        """The request bodies of both stages."""
        return self.answer_bodies.read_bytes().splitlines(), self.judge_bodies.read_bytes().splitlines()

    def project(self, state: str) -> Project:
        """Return the project with its ledger and artifacts in a folder of their own, empty at first."""
        environ = {
            "EVALPLATFORM_STORAGE": f"{state}/store",
            "EVALPLATFORM_DATABASE": f"sqlite:///{self.folder / state / 'calls.db'}",
        }
        return load_project(self.folder / "evalplatform.yaml", environ=environ)


@contextmanager
def prepared(size: Size) -> Iterator[Workload]:
    """Start the server, write the project, and run it once: that loads all code, and says which requests the project makes."""
    with TemporaryDirectory(prefix="benchmark-") as temporary, model_server(size.latency_seconds) as server:
        folder = Path(temporary)
        (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": _questions(size.questions)}))
        (folder / "evalplatform.yaml").write_text(PROJECT_FILE.format(url=server.url, concurrency=size.concurrency))
        workload = Workload(folder, server, size, folder / "answers.jsonl", folder / "judgements.jsonl")
        requests = _recorded_requests(workload)
        for path, stage in ((workload.answer_bodies, requests[: size.questions]), (workload.judge_bodies, requests[size.questions :])):
            path.write_bytes(b"\n".join(_body(request) for request in stage))
        yield workload


async def answer_and_judge(context: SuiteContext, questions: QuestionSet) -> None:
    """Do what the stages `arm_answers` and `judged_scores` do between reading their inputs and writing their artifacts."""
    cell, judge = context.project.cell("cell"), context.project.judge("judge")
    workers = context.project.endpoint(cell.endpoint).limits.workers
    async with open_treatments(context) as opened, context.open_desk(cell.endpoint) as desk:
        plan = AnswerPlan(
            provider=cell.provider, base_url=cell.base_url, model=cell.model, questions=questions.questions, concurrency=workers
        )
        meter = ProgressMeter("answers", len(questions.questions), context.clock, context.on_progress, tally=desk.tally)
        sheet = await answer_cell(plan, treatments=opened.treatments, asker=desk, meter=meter)
    by_id = {question.id: question for question in questions.questions}
    tasks = judge_tasks(sheet.answers, questions=by_id, texts=sheet.texts)
    async with context.open_desk(judge.endpoint) as desk:
        built = judge_kinds.get(judge.settings.kind)(judge.settings, asker=desk)
        meter = ProgressMeter("scores", len(tasks), context.clock, context.on_progress, tally=desk.tally)
        judged = await judge_all(tasks, judge=built, concurrency=workers, meter=meter)
    if not (sheet.is_complete and judged.is_complete):
        raise RuntimeError("the run loop left something unanswered or unjudged, so its time means nothing")


def _recorded_requests(workload: Workload) -> list[ModelRequest]:
    requests: list[ModelRequest] = []
    with OpenedProject(workload.project("recorded")) as opened:
        context = opened.suite_context(SUITE)

        @asynccontextmanager
        async def recording_desk(endpoint_id: str) -> AsyncIterator[CallDesk]:
            async with context.open_desk(endpoint_id) as desk:
                yield replace(desk, endpoint=replace(desk.endpoint, client=_RecordingClient(desk.endpoint.client, requests)))

        questions = read_question_set(workload.folder / context.suite.questions)
        asyncio.run(answer_and_judge(replace(context, open_desk=recording_desk), questions))
    return requests


@dataclass(frozen=True)
class _RecordingClient:
    """Asks another client and notes what was asked."""

    client: ModelClient
    requests: list[ModelRequest]

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return await self.client.complete(request)

    async def aclose(self) -> None:
        await self.client.aclose()


def _body(request: ModelRequest) -> bytes:
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    return orjson.dumps(ChatCompletions().request_body(request.model, messages, request.sampling, stream=False))


def _questions(count: int) -> list[dict[str, str]]:
    return [
        {
            "id": f"q{number:05d}",
            "question": f"Step {number} of the pipeline fails with code {number * 7 % 13}: which retries follow, and who is told?",
            "category": "operations",
        }
        for number in range(count)
    ]
