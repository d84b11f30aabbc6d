"""`evalplatform run` with a model judge: its verdict stands beside the structural one, and decides nothing."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.records import Run
from tests.cli.conftest import Command
from tests.support.model_stub import ModelStub, running_stub

EXAMPLE = Path(__file__).parents[2] / "examples" / "refund-agent"


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


def judged_runs(folder: Path, command: Command, stub: ModelStub, *, saying: str) -> list[Run]:
    """The runs of the example's first scenario, which a judge that always says the same was asked about."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".evalplatform", "__pycache__"))
    project = folder / "evalplatform.yaml"
    project.write_text(f"{project.read_text()}endpoints:\n  stub: {{provider: openai-compatible, base_url: {stub.url!r}}}\n")
    model = json.dumps(f"stub;do=reply;text={saying.replace(' ', '+')}")
    file = folder / "scenarios.yaml"
    text = file.read_text().replace("  - id: refund-under-threshold\n", "  - id: refund-under-threshold\n    model_judge: true\n")
    file.write_text(f"{text}judge: {{kind: rubric, model: {model}, endpoint: stub}}\n")
    ran = command("run", "--runs", 2, "--json")
    assert ran.code == 0, ran.err
    bundle = read_bundle(Path(json.loads(ran.out)["bundle"]))
    assert bundle.header.judge.startswith("structural-v1+run-judge-")
    assert all(run.model_verdict is None for run in bundle.runs if run.scenario_id != "refund-under-threshold")
    return [run for run in bundle.runs if run.scenario_id == "refund-under-threshold"]


def test_a_judge_that_would_fail_a_run_changes_neither_outcome_nor_score(tmp_path: Path, command: Command, stub: ModelStub) -> None:
    runs = judged_runs(tmp_path, command, stub, saying='{"verdict": "failed", "score": 12, "reasoning": "Too quick."}')
    assert [(run.outcome, run.score_points) for run in runs] == [("passed", 100), ("passed", 100)]
    verdicts = [run.model_verdict for run in runs]
    assert [(said.verdict, said.score_points, said.reason) for said in verdicts if said is not None] == [("failed", 12, "Too quick.")] * 2
    assert stub.requests == 2


def test_a_judge_that_cannot_be_read_leaves_the_run_graded_and_itself_unscored(tmp_path: Path, command: Command, stub: ModelStub) -> None:
    runs = judged_runs(tmp_path, command, stub, saying="It was fine")
    assert [run.outcome for run in runs] == ["passed", "passed"]
    verdicts = [run.model_verdict for run in runs]
    assert [(said.verdict, said.reason) for said in verdicts if said is not None] == [
        (None, "malformed_reply: the reply holds no JSON object")
    ] * 2
