"""The real airline runs, imported: every run and verdict of the data is in the bundle, counted again here from the data alone."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.runs.bundle import read_bundle, recorded_runs
from evalplatform.runs.trajectory import ToolCallStep
from tests.support.requirements import data_folder

Json = dict[str, object]


@pytest.fixture
def lines() -> list[Json]:
    """The data's lines."""
    return [json.loads(line) for line in (data_folder("airline-trajectories") / "runs.jsonl").read_text(encoding="utf-8").splitlines()]


def imported(folder: Path, *flags: str) -> Path:
    """Import the data and return the bundle."""
    trace = data_folder("airline-trajectories") / "runs.jsonl"
    bundle = folder / "airline.jsonl"
    assert exit_code(["import", str(trace), "--out", str(bundle), "--project-id", "airline", *flags]) == 0
    return bundle


def test_fifty_scenarios_of_four_runs_keep_their_verdicts_and_tool_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[Json]
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = imported(tmp_path)
    found = {(recorded.run.scenario_id, recorded.run.order): recorded for recorded in recorded_runs(bundle)}
    assert len(found) == len(lines) == 200
    assert Counter(scenario for scenario, _ in found) == Counter({f"airline-{number:02}": 4 for number in range(50)})
    for line in lines:
        run, trajectory = found[str(line["scenario"]), int(str(line["trial"]))]
        assert run.outcome == ("passed" if line["reward"] == 1.0 else "failed")
        assert run.score_points == 100 * float(str(line["reward"]))
        messages = line["messages"]
        assert isinstance(messages, list)
        called = [
            (call["function"]["name"], call["function"]["arguments"]) for message in messages for call in message.get("tool_calls") or ()
        ]
        assert trajectory is not None
        assert [(step.tool, step.arguments_text) for step in trajectory.steps if isinstance(step, ToolCallStep)] == called
        assert run.tools == tuple(tool for tool, _ in called)


def test_the_first_and_the_last_two_trials_are_two_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[Json]) -> None:
    monkeypatch.chdir(tmp_path)
    for trials in ((0, 1), (2, 3)):
        folder = tmp_path / f"from-{trials[0]}"
        folder.mkdir()
        bundle = imported(folder, *(f"--trial={trial}" for trial in trials))
        batch = read_bundle(bundle).batch
        passed = sum(line["reward"] == 1.0 for line in lines if line["trial"] in trials)
        assert (batch.run_count, batch.graded_runs, batch.passed_runs) == (100, 100, passed)
        assert {run.order for run in read_bundle(bundle).runs} == {0, 1}
