"""A small project whose suite is a matrix: two models, each without plugins, with two levels of caveman, and with its answers cut.

The models are the model stub, whose reply depends on the prompt and not on the model. So the two models give the same answers, which the
judge is asked to grade once for both.
"""

import json
from pathlib import Path

from tests.support.model_stub import ModelStub

SUITE = "kettle"
JUDGE = "rubric"
MODELS = ("small", "large")
PLUGINS = {"plain": (), "full": ("caveman:full",), "ultra": ("caveman:ultra",), "cut": ("truncate:80",)}
ARMS = ("baseline", "skill:use-kettle")
CELLS = tuple(f"{model}-{plugins}" for model in MODELS for plugins in PLUGINS)
QUESTIONS = 8
CONCURRENCY = 16

_PROJECT_FILE = """\
version: 1
project: matrix
endpoints:
  stub:
    provider: openai-compatible
    base_url: {base_url}
    limits: {{max_concurrent: {concurrency}}}
    retry: {{attempts: 1}}
    prices: {{input_per_million_usd: 1.0, output_per_million_usd: 2.0}}
cells:
{cells}
judges:
  rubric: {{kind: rubric, model: grader, endpoint: stub}}
products:
  kettle: {{}}
suites:
  kettle:
    product: kettle
    questions: questions.json
    arms: [baseline, skill:skills/use-kettle]
    cells: [{names}]
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


def write_matrix_project(folder: Path, base_url: str, *, questions: int = QUESTIONS, draws: int = 1) -> Path:
    """Write the project, with the same cells as `matrix.json`, and return its folder."""
    (folder / "skills" / "use-kettle").mkdir(parents=True)
    (folder / "skills" / "use-kettle" / "SKILL.md").write_text(_SKILL)
    asked = [
        {"id": f"q{number:03}", "question": f"What does part {number} of Kettle do, and which other part has to be in its place before it?"}
        for number in range(questions)
    ]
    (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": asked}))
    cells = [
        f"  {model}-{name}: {{model: {model}, endpoint: stub, plugins: {json.dumps(list(plugins))}}}"
        for model in MODELS
        for name, plugins in PLUGINS.items()
    ]
    (folder / "evalplatform.yaml").write_text(
        _PROJECT_FILE.format(
            base_url=json.dumps(base_url), cells="\n".join(cells), names=", ".join(CELLS), draws=draws, concurrency=CONCURRENCY
        )
    )
    (folder / "matrix.json").write_text(json.dumps({"matrix": {"cells": matrix_cells()}}, indent=2))
    return folder


def matrix_cells() -> list[dict[str, object]]:
    """The suite's cells as a matrix file has them."""
    return [
        {"id": f"{model}-{name}", "model": model, "provider": "stub", "harness": "arms-runner", "plugins": list(plugins)}
        for model in MODELS
        for name, plugins in PLUGINS.items()
    ]


def distinct_calls(questions: int = QUESTIONS) -> dict[str, int]:
    """How many calls a whole matrix is asked with one draw, by the model that is asked.

    Plain and cut cells send their models the same, and the judge grades the same answers of both models once.
    """
    prompts = questions * len(ARMS)
    return {**{model: prompts * (len(PLUGINS) - 1) for model in MODELS}, "grader": prompts * len(PLUGINS)}


def calls_by_model(stub: ModelStub) -> dict[str, int]:
    """How many requests the stub got, by model; a body that came twice counts twice."""
    counts: dict[str, int] = {}
    for seen in list(stub.seen.values()):
        model = str(json.loads(seen.body)["model"])
        counts[model] = counts.get(model, 0) + seen.count
    return counts
