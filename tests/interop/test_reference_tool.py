"""Files pass between this platform and the tool that arms.v1 comes from, and both give the same numbers."""

import json
import subprocess
from pathlib import Path

import pytest

from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import read_arms_v1, recomputed_cost_summary, recomputed_summary, write_arms_v1
from evalplatform.reports.run_facts import RunFacts
from tests.interop.reference_tool import reference_python, run_reference
from tests.support.arm_rows import MATERIALS, Table, answers_of, failed, question_set, run_facts, scores_of, timings_of
from tests.support.model_stub import running_stub

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]  # the first run installs the tool

TABLE: Table = {
    "baseline": [50.0, 60.0, 70.0, 55.5, 65.0, 75.0, 52.0, 58.0, 61.0],
    "docs": [58.0, 66.0, 75.3, None, 72.0, 83.0, 59.0, 61.0, 70.0],
    "skill:x": [51.0, 59.0, 70.0, 56.0, 66.0, 71.0, None, 58.0, 66.0],
    "docs+skill:x": [60.0, 70.0, 80.0, 66.0, 70.0, 85.0, 61.0, 66.0, 60.1],
}


def written(path: Path, *, facts: RunFacts | None = None) -> Path:
    answers = answers_of(TABLE)
    answers[0] = failed(0, "baseline")
    payload = arms_v1_payload(
        facts or run_facts(list(TABLE)),
        question_set(9),
        answers=answers,
        scores=scores_of(TABLE)[1:],
        timings=timings_of(TABLE),
        materials=MATERIALS,
    )
    return write_arms_v1(path, payload)


def test_our_file_is_valid_for_the_reference_tool(tmp_path: Path) -> None:
    program = "import sys, pathlib; from dokimi.artifacts import load_artifact; load_artifact('arms', pathlib.Path(sys.argv[1]))"
    ours, broken = written(tmp_path / "ours.json"), tmp_path / "broken.json"
    broken.write_text(json.dumps({**json.loads(ours.read_text()), "judge_model": ""}))
    outcomes = [
        subprocess.run([reference_python(), "-c", program, path], capture_output=True, text=True, check=False, cwd=tmp_path)
        for path in (ours, broken)
    ]
    assert outcomes[0].returncode == 0, outcomes[0].stderr
    assert "judge_model" in outcomes[1].stderr, "the check is one that can fail"


def test_our_numbers_are_those_the_reference_tool_computes_from_our_file(tmp_path: Path) -> None:
    program = (
        "import json, sys; from dokimi.eval.arm_runner import ArmRunner; data = json.load(open(sys.argv[1]))\n"
        "named = [type('Arm', (), {'name': name})() for name in data['arms']]\n"
        "summary = ArmRunner(named)._summarize(data['evaluations'], data['baseline_arm'])\n"
        "print(json.dumps({'summary': summary, 'cost_summary': ArmRunner._cost_summary(data['answers'])}))\n"
    )
    ours = written(tmp_path / "ours.json")
    outcome = subprocess.run([reference_python(), "-c", program, ours], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    theirs = json.loads(outcome.stdout)
    mine = json.loads(ours.read_text())
    assert mine["summary"] == theirs["summary"]
    assert mine["cost_summary"] == theirs["cost_summary"]


def test_the_reference_tool_compares_two_files_of_ours(tmp_path: Path) -> None:
    plain = written(tmp_path / "none.json")
    shaped_facts = run_facts(list(TABLE)).with_changes(plugins=parse_plugins(["truncate:60"]).stamps)
    shaped = written(tmp_path / "shaped.json", facts=shaped_facts)
    outcome = run_reference(
        "arms", "plugin-delta", "--baseline-json", str(plain), "--plugin-json", str(shaped), "--out-json", "delta.json", cwd=tmp_path
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    deltas = json.loads((tmp_path / "delta.json").read_text())["score_deltas"]
    assert {arm: block["aggregate_delta"] for arm, block in deltas.items()} == dict.fromkeys(TABLE, 0.0)
    assert [block["n"] for block in deltas.values()] == [8, 8, 8, 9]


def test_a_run_of_the_reference_tool_is_read_and_its_numbers_computed_again(tmp_path: Path) -> None:
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("---\nname: demo\ndescription: Expiry rules.\n---\nRules run once a day.\n")
    questions = [{"id": number, "question": f"How do I expire objects after {number} days?"} for number in range(8)]
    (tmp_path / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": questions}))
    with running_stub() as stub:
        outcome = run_reference(
            "arms", "run", "--product", "Storage", "--questions", "questions.json", "--arms", "baseline,skill:./skill",
            "--model", "gpt-4o-mini", "--provider", "openai", "--judge", "--judge-model", "gpt-4o", "--judge-provider", "openai",
            "--out-json", "theirs.json", "--out-md", "theirs.md",
            environment={"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": stub.url, "OPENAI_API_BASE": stub.url},
            cwd=tmp_path,
        )  # fmt: skip
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    file = read_arms_v1(tmp_path / "theirs.json")
    assert (file.arms, file.judge_model, file.judge_context) == (("baseline", "skill:demo"), "gpt-4o", "treatment_material.v1")
    assert [question.id for question in file.questions] == [str(number) for number in range(8)]
    assert {row.state for row in file.answers} == {"answered"}
    assert file.warnings == ()
    assert set(file.materials) == {row.material_digest for row in file.answers}
    assert [row.judgement.points for row in file.scores].count(None) == 0
    assert recomputed_summary(file) == file.summary
    assert recomputed_cost_summary(file) == file.cost_summary
