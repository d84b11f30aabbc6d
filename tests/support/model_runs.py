"""arms.v1 files of several models, as any tool may write them: points by arm and question, and whatever stamps a test is about."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.reports.compared_run_file import compared_run_of

Points = Mapping[str, Sequence[float | None]]
"""By arm, the points of q0, q1, ...; None is unscored."""

TWO_ARMS: Points = {
    "baseline": [50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0],
    "docs": [60.0, 62.0, 64.0, 66.0, 68.0, 70.0, 72.0, 74.0],
}
BETTER: Points = {
    "baseline": [55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0],
    "docs": [58.0, 61.0, 64.0, 67.0, 70.0, 73.0, 76.0, 79.0],
}


def arms_file(points: Points, *, ids: Sequence[object] = (), difficulty: Sequence[object] = (), **stamps: object) -> dict[str, Any]:
    """Return the object of an arms.v1 file. `stamps` are top-level keys; one that is None is left out."""
    arms, count = list(points), len(next(iter(points.values())))
    names = list(ids) or [f"q{place}" for place in range(count)]
    levels = list(difficulty) or [None] * count
    head = {
        "schema_version": "arms.v1",
        "library_name": "Kettle",
        "model": "small",
        "provider": "openai",
        "harness": "arms-runner",
        "plugin_set": "none",
        "plugin_set_id": "sha256:e3b0c44298fc1c149afbf4c8996fb924",
        "arms": arms,
        "baseline_arm": "baseline",
        "total_questions": count,
        "run_config": {"max_tokens": 800, "temperature": None, "seed": None},
        "cost_summary": {arm: cost_block(count) for arm in arms},
        "judge_context": "treatment_material.v1",
        "judge_model": "grader",
        "judge_provider": "anthropic",
        "judge_temperature": None,
        "judge_prompt_sha256": "sha256:" + "0" * 64,
    }
    rows = [(names[place], f"Question {names[place]}?", levels[place]) for place in range(count)]
    body = {
        "answers": [
            {"question_id": name, "question_text": text, "difficulty": level, "arms": {arm: answer_record() for arm in arms}}
            for name, text, level in rows
        ],
        "evaluations": [
            {
                "question_id": name,
                "question_text": text,
                "difficulty": level,
                "scores": {arm: score_record(points[arm][place]) for arm in arms},
            }
            for place, (name, text, level) in enumerate(rows)
        ],
    }
    return {key: value for key, value in {**head, **body, **stamps}.items() if value is not None}


def answer_record() -> dict[str, Any]:
    """Return an answer of four characters."""
    return {"answer": "Boil", "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "raw_answer_chars": 4, "final_answer_chars": 4}}


def score_record(points: float | None) -> dict[str, Any]:
    """Return a score, or a judgement that failed."""
    stamp = {"judge_context_source": "stored"}
    return {"error": "malformed_reply: no JSON", **stamp} if points is None else {"aggregate": points, **stamp}


def cost_block(answers: int, *, priced: int | None = None, cost_usd: float | None = 0.01, latency: float | None = 1.5) -> dict[str, Any]:
    """Return an arm's block of `cost_summary`."""
    return {
        "n": answers,
        "total_cost_usd": cost_usd,
        "cost_known_n": answers if priced is None else priced,
        "total_llm_calls": answers,
        "prompt_tokens": 10 * answers,
        "completion_tokens": 2 * answers,
        "total_tokens": 12 * answers,
        "mean_latency_sec": latency,
        "mean_ttft_sec": None,
        "cache_hit_ratio": 0.0,
    }


def model_run(name: str, points: Points = TWO_ARMS, **stamps: Any) -> ComparedRun:
    """Return the run of a file; its model is `NAME-model` unless a stamp says otherwise."""
    return compared_run_of(arms_file(points, **{"model": f"{name}-model", **stamps}), path=Path(f"{name}.json"), name=name)


def run_file(folder: Path, name: str, points: Points = TWO_ARMS, **stamps: Any) -> Path:
    """Write the file that `model_run` reads."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(arms_file(points, **{"model": f"{name}-model", **stamps})))
    return path


def with_profile(file: dict[str, Any], arm: str, *digests: str) -> dict[str, Any]:
    """Return the file with the profile digests in every answer of an arm: one at the top, several inside a combined arm."""
    treatments = [{"name": f"profile:{place}", "profile_prompt_sha256": digest} for place, digest in enumerate(digests)]
    for row in file["answers"]:
        row["arms"][arm]["metadata"] = {"profile_prompt_sha256": digests[0]} if len(digests) == 1 else {"treatments": treatments}
    return file
