"""A small project whose models are the model stub: two arms, a rubric judge; and what its ledger, its store and the stub know of it.

Both models have a seed, so that a body says which draw it is of; the judge is therefore pinned, and probed once.
"""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from evalplatform.adapters.ledger.open import open_ledger
from evalplatform.calls.request_digest import request_digest
from evalplatform.ports.ledger import LedgerRow
from evalplatform.ports.model_client import Message, ModelRequest, Sampling
from evalplatform.project.load import Project, load_project
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import ModelStub

PROVIDER = "openai-compatible"
ANSWERER, GRADER = "answerer", "grader"
SEEDS = {ANSWERER: 7, GRADER: 1_007}
MAX_TOKENS = 200
CONCURRENCY = 16
RUN = ("arms", "run", "--suite", "kettle", "--judge")

CallOfDraw = tuple[str, int]
"""Request digest and draw."""

_PROJECT_FILE = """\
version: 1
project: resumed
storage: {storage}
database: {database}
endpoints:
  stub:
    provider: {provider}
    base_url: {base_url}
    key_env: STUB_KEY
    limits: {{max_concurrent: {concurrency}}}
    retry: {{first_wait_seconds: 0.05}}
    prices: {{input_per_million_usd: 100.0, output_per_million_usd: 200.0}}
cells:
  model: {{model: {answerer}, endpoint: stub, sampling: {{seed: {answerer_seed}, max_tokens: {max_tokens}}}}}
judges:
  rubric: {{kind: rubric, model: {grader}, endpoint: stub, sampling: {{seed: {grader_seed}, max_tokens: {max_tokens}}}}}
products:
  kettle: {{}}
suites:
  kettle:
    product: kettle
    questions: questions.json
    arms: [baseline, skill:skills/use-kettle]
    cells: [model]
    judges: [rubric]
    draws: {draws}
"""
_SKILL = """\
---
name: use-kettle
description: Answers about Kettle. Use when a question names one of its parts.
---
Say what the part is for, then how it is used.
"""


def write_stub_project(
    folder: Path,
    base_url: str,
    *,
    questions: int,
    draws: int = 1,
    storage: str = ".evalplatform/store",
    database: str = "sqlite:///.evalplatform/evalplatform.db",
) -> Path:
    """Write the project and return its folder. One run makes `calls_of_a_run` calls."""
    (folder / "skills" / "use-kettle").mkdir(parents=True)
    (folder / "skills" / "use-kettle" / "SKILL.md").write_text(_SKILL)
    asked = [{"id": f"q{number:03}", "question": f"What does part {number} of Kettle do?"} for number in range(questions)]
    (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": asked}))
    text = _PROJECT_FILE.format(
        storage=json.dumps(storage),
        database=json.dumps(database),
        provider=PROVIDER,
        base_url=json.dumps(base_url),
        concurrency=CONCURRENCY,
        answerer=ANSWERER,
        answerer_seed=SEEDS[ANSWERER],
        grader=GRADER,
        grader_seed=SEEDS[GRADER],
        max_tokens=MAX_TOKENS,
        draws=draws,
    )
    (folder / "evalplatform.yaml").write_text(text)
    return folder


def more_cells(folder: Path, *, cells: int) -> Project:
    """Give the project so many cells in place of its one, and load it. They differ in their longest answer, so that no two ask the same."""
    file = folder / "evalplatform.yaml"
    text = file.read_text()
    (cell,) = re.findall(r"^  model: .*\n", text, re.MULTILINE)
    names = [f"model-{number}" for number in range(cells)]
    longest = [f"max_tokens: {MAX_TOKENS + number}" for number in range(cells)]
    declared = [
        cell.replace("model:", f"{name}:", 1).replace(f"max_tokens: {MAX_TOKENS}", most) for name, most in zip(names, longest, strict=True)
    ]
    file.write_text(text.replace(cell, "".join(declared)).replace("cells: [model]", f"cells: [{', '.join(names)}]"))
    return load_project(file)


def calls_of_a_run(questions: int, draws: int = 1) -> int:
    """How many calls an unbroken run makes: two arms, each answered and judged, and the judge's probe."""
    return questions * draws * 2 * 2 + 1


def ledger_rows(folder: Path) -> list[LedgerRow]:
    """The calls that the project's ledger holds, oldest first."""
    project = load_project(folder / "evalplatform.yaml")

    async def rows() -> list[LedgerRow]:
        ledger = open_ledger(_database_url(project), project=project.settings.project)
        try:
            return [row async for row in ledger.rows()]
        finally:
            await ledger.aclose()

    return asyncio.run(rows())


def committed_calls(folder: Path) -> set[CallOfDraw]:
    """The (request digest, draw) that the ledger holds; none of the stub's judge replies is drawn again."""
    rows = ledger_rows(folder)
    assert all(row.key.attempt == 0 for row in rows)
    return {(row.key.request_digest, row.key.draw) for row in rows}


def calls_seen(stub: ModelStub) -> Counter[CallOfDraw]:
    """How often the stub was asked each (request digest, draw), derived from the bodies that it got."""
    seen: Counter[CallOfDraw] = Counter()
    for one in list(stub.seen.values()):
        seen[_call_of(json.loads(one.body), stub.url)] += one.count
    return seen


def stored_content(folder: Path) -> dict[str, bytes]:
    """The current artifacts' files whose bytes must not depend on when, how fast or in how many pieces a run went.

    Left out are timings and reports, which state latencies, dates and the calls of the last run. From the summary the mean latencies are
    taken out.
    """
    content: dict[str, bytes] = {}
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        for artifact in opened.catalog.list():
            manifest = opened.catalog.current(artifact)
            assert manifest is not None
            for name in manifest.files:
                data = opened.catalog.read(manifest, name)
                if name == "summary.json":
                    data = _without_latency(data)
                if artifact.asset not in ("arms_report", "score_moves") and name != "timings.parquet":
                    content[f"{artifact.path}/{name}"] = data
    return content


def stored_files_are_whole(folder: Path) -> int:
    """Read every file of every current artifact, each checked against its digest, and return how many there are."""
    files = 0
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        for artifact in opened.catalog.list():
            manifest = opened.catalog.current(artifact)
            assert manifest is not None
            files += len([opened.catalog.read(manifest, name) for name in manifest.files])
    return files


def _call_of(body: dict[str, Any], base_url: str) -> CallOfDraw:
    seed = SEEDS[body["model"]]
    request = ModelRequest(
        provider=PROVIDER,
        base_url=base_url,
        model=body["model"],
        messages=tuple(Message(**message) for message in body["messages"]),
        sampling=Sampling(seed=seed, max_tokens=body["max_tokens"], temperature=body.get("temperature")),
    )
    return request_digest(request), body["seed"] - seed


def _database_url(project: Project) -> str:
    prefix = "sqlite:///"
    url = project.settings.database
    return f"{prefix}{project.root / url.removeprefix(prefix)}" if url.startswith(prefix) else url


def _without_latency(summary: bytes) -> bytes:
    parsed = json.loads(summary)
    for cost in parsed["costs"].values():
        del cost["mean_latency_seconds"], cost["mean_time_to_first_token_seconds"]
    return json.dumps(parsed).encode()
