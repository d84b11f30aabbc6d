"""A file of the tool that arms.v1 comes from is judged again by this platform's judges, with the material that the file holds."""

import json
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.comparisons.cross_judge_records import CrossJudgement
from tests.interop.reference_tool import run_reference
from tests.support.model_stub import running_stub
from tests.support.stub_project import write_stub_project

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]  # the first run installs the tool


def test_a_file_of_the_reference_tool_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STUB_KEY", "key")
    questions = [{"id": number, "question": f"How do I expire objects after {number} days?"} for number in range(8)]
    questions[0]["ground_truth_chunk"] = "Set the rule to 0 days."
    with running_stub() as stub:
        write_stub_project(folder, stub.url, questions=1)
        (folder / "skill").mkdir()
        (folder / "skill" / "SKILL.md").write_text("---\nname: demo\ndescription: Expiry rules.\n---\nRules run once a day.\n")
        (folder / "asked.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": questions}))
        ran = run_reference(
            "arms", "run", "--product", "Storage", "--questions", "asked.json", "--arms", "baseline,skill:./skill",
            "--model", "gpt-4o-mini", "--provider", "openai", "--judge", "--judge-model", "gpt-4o", "--judge-provider", "openai",
            "--out-json", "theirs.json", "--out-md", "theirs.md",
            environment={"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": stub.url, "OPENAI_API_BASE": stub.url},
            cwd=folder,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        known = len(stub.bodies())
        assert exit_code(["cross-judge", "theirs.json", "--judges", "rubric", "--out-json", "o.json"]) == 0
        asked = [body for body in stub.bodies()[known:] if body["model"] == "grader"]
    (run,) = CrossJudgement.model_validate_json((folder / "o.json").read_bytes()).runs
    first, stored = run.run.measures
    assert (first.name, stored.name, stored.counts) == ("rubric", "gpt-4o (stored)", True)
    assert all(len(measure.points[arm]) == 8 for measure in (first, stored) for arm in ("baseline", "skill:demo"))
    theirs = {str(row["question_id"]): row["scores"] for row in json.loads((folder / "theirs.json").read_text())["evaluations"]}
    assert stored.points["skill:demo"] == {question: scores["skill:demo"]["aggregate"] for question, scores in theirs.items()}
    prompts = ["\n".join(message["content"] for message in body["messages"]) for body in asked]
    assert sum("Rules run once a day." in prompt for prompt in prompts) == 8, "the skill's answers, and no other, with its material"
    assert sum("Set the rule to 0 days." in prompt for prompt in prompts) == 2, "both arms' answers to the grounded question"
