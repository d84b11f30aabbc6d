"""`evalplatform run` of a cell of the project: a batch asks its own questions, and an interrupted one repeats none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle, read_recording
from tests.cli.conftest import Command
from tests.support.model_stub import ModelStub, running_stub
from tests.support.stub_project import write_stub_project

SCENARIOS = """version: 1
agent: {model: {cell: model}}
scenarios:
  - {id: kettle, message: What is a kettle?, assertions: [{max_steps: 5}]}
"""


@pytest.fixture
def models(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStub]:
    monkeypatch.setenv("STUB_KEY", "sk-of-no-value")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with running_stub() as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        monkeypatch.chdir(folder)
        settings = folder / "evalplatform.yaml"
        settings.write_text(settings.read_text() + "\nscenarios: scenarios.yaml\n")
        (folder / "scenarios.yaml").write_text(SCENARIOS)
        yield stub


def test_another_batch_under_the_same_file_name_asks_anew(models: ModelStub, command: Command) -> None:
    for nth, commit in enumerate(("aaa", "bbb"), start=1):
        ran = command("run", "--runs", 2, "--commit", commit, "--out", "batch.jsonl")
        assert ran.code == 0, ran.err
        assert models.requests == 2 * nth
        Path("batch.jsonl").rename(f"{commit}.jsonl")
    assert read_recording(Path("aaa.jsonl")) != read_recording(Path("bbb.jsonl"))


def test_a_batch_that_was_interrupted_before_it_kept_a_run_pays_for_none_twice(models: ModelStub, command: Command) -> None:
    assert command("run", "--runs", 2, "--out", "batch.jsonl").code == 0
    finished = read_bundle(Path("batch.jsonl"))
    begin, first, *_ = Path("batch.jsonl").read_bytes().splitlines(keepends=True)
    Path("elsewhere.jsonl").write_bytes(begin + first)  # as a kill leaves it; moved meanwhile
    assert command("run", "--runs", 2, "--out", "elsewhere.jsonl").code == 0
    assert models.requests == 2
    again = read_bundle(Path("elsewhere.jsonl"))
    assert [run.trajectory_digest for run in again.runs] == [run.trajectory_digest for run in finished.runs]
