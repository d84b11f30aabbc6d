"""Folders of arms.v1 files: a batch of one treatment over models and question sets, as the platform writes it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalplatform.kernel.digests import text_digest
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import write_arms_v1
from tests.support.arm_rows import MATERIALS, Points, answers_of, question_set, run_facts, scores_of, timings_of

PROMPT = text_digest("Answer in one sentence.")
JUDGE = ("claude-sonnet-5-5", "anthropic")


def batch_file(
    path: Path,
    *,
    baseline: Sequence[Points],
    treatment: Sequence[Points],
    arm: str = "profile:concise",
    model: str = "small-8b",
    prompt: str | None = PROMPT,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a judged run of two arms: the treatment's answers carry the prompt's digest, where there is one, and were sent it."""
    table = {"baseline": list(baseline), arm: list(treatment)}
    facts = run_facts(list(table)).with_changes(model=model)
    assert facts.judge is not None
    facts = facts.with_changes(judge=facts.judge.with_changes(model=JUDGE[0], provider=JUDGE[1]))
    answers = [
        row
        if row.arm == "baseline" or prompt is None
        else row.with_changes(used_system_prompt=True, metadata={**row.metadata, "profile_prompt_sha256": prompt})
        for row in answers_of(table)
    ]
    payload = arms_v1_payload(
        facts, question_set(len(baseline)), answers=answers, scores=scores_of(table), timings=timings_of(table), materials=MATERIALS
    )
    write_arms_v1(path, payload)
    if changes:
        changed_file(path, **changes)
    return path


def changed_file(path: Path, **changes: Any) -> None:
    """Replace top-level fields of a file; None takes a field away."""
    data = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps({name: value for name, value in data.items() if value is not None}), encoding="utf-8")
