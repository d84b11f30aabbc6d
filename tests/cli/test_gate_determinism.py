"""`gate --require-replay-determinism`: compared replays are run and graded again from the scenario file."""

from pathlib import Path

import pytest

from evalplatform.project.load import load_project
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.trajectory import trajectory_bytes
from tests.cli.conftest import Command
from tests.cli.test_gate import cases
from tests.support.compared_batches import trajectory_of, write_bundle

PROJECT = "version: 1\nproject: shop\nscenarios: scenarios.yaml\n"
SCENARIOS = """\
version: 1
gate: {}
scenarios:
  - id: refund
    message: Please see to refund.
    replay: refund.json
    assertions: [{tool_called: refund}]
  - id: cancel
    message: Please see to cancel.
    replay: cancel.json
    assertions: [{tool_called: cancel}]
"""
ASKED = ("gate", "--baseline", "b.jsonl", "--candidate", "c.jsonl", "--require-replay-determinism")


@pytest.fixture
def replays(command: Command) -> Command:
    """Two batches of the same two replays, under a gate policy."""
    Path("evalplatform.yaml").write_text(PROJECT)
    Path("scenarios.yaml").write_text(SCENARIOS)
    for name in ("refund", "cancel"):
        Path(f"{name}.json").write_bytes(trajectory_bytes(trajectory_of(name, [name])))
    recorded(command)
    return command


def recorded(command: Command) -> None:
    """Record the scenarios of the file as both batches."""
    for bundle in ("b.jsonl", "c.jsonl"):
        Path(bundle).unlink(missing_ok=True)
        ran = command("run", "--out", bundle, "--commit", bundle)
        assert ran.code == 0, ran.err


def graded_otherwise(bundle: str, scenario_id: str) -> None:
    """Let a run of a bundle have failed, as if it had been graded by other rules than these."""
    batch = read_bundle(Path(bundle))
    runs = [run.with_changes(outcome="failed", reason="so") if run.scenario_id == scenario_id else run for run in batch.runs]
    Path(bundle).unlink()
    write_bundle(Path(bundle), batch._replace(runs=tuple(runs)))


def test_replays_that_come_out_the_same_are_counted_and_pass(replays: Command) -> None:
    ran = replays(*ASKED, "--junit", "j.xml")
    assert ran.code == 0, ran.err
    assert "Replay determinism: 2 replays run again, each with the same verdict and trajectory." in ran.out
    assert cases(Path("j.xml"))["replay determinism: 2 replays run again"] == "passed"


def test_a_replay_that_comes_out_otherwise_fails_the_gate_though_no_scenario_gates(replays: Command) -> None:
    for bundle in ("b.jsonl", "c.jsonl"):
        graded_otherwise(bundle, "cancel")
    assert replays(*ASKED[:-1]).code == 0
    ran = replays(*ASKED, "--junit", "j.xml")
    assert ran.code == 1
    assert ran.out.startswith("The gate would fail (1 replay not deterministic).")
    assert "Replay determinism: 1 of 2 replays came out otherwise when run again: cancel." in ran.out
    assert cases(Path("j.xml"))["replay determinism: cancel"] == "failure"


def test_without_a_policy_a_replay_that_comes_out_otherwise_fails_the_gate_too(replays: Command) -> None:
    Path("scenarios.yaml").write_text(SCENARIOS.replace("gate: {}\n", ""))
    recorded(replays)
    for bundle in ("b.jsonl", "c.jsonl"):
        graded_otherwise(bundle, "cancel")
    assert replays(*ASKED[:-1]).code == 0
    ran = replays(*ASKED, "--out-md", "g.md", "--out-json", "g.json")
    assert ran.code == 1
    for said in (ran.out, Path("g.md").read_text(), Path("g.json").read_text()):
        assert "The gate would fail (1 replay not deterministic)." in said.replace("\\", "")


def test_a_replay_of_the_baseline_alone_that_comes_out_otherwise_counts(replays: Command) -> None:
    graded_otherwise("b.jsonl", "cancel")
    assert replays(*ASKED).code == 1


def test_a_batch_that_ran_under_the_policy_that_the_platform_holds_is_of_the_same_scenario_file(replays: Command) -> None:
    held = HeldPolicy(target_drop=30, tier_by_scenario={"cancel": "critical"})
    under = load_scenario_set(Path("scenarios.yaml"), project=load_project(Path("evalplatform.yaml"))).under_policy(held)
    for bundle in ("b.jsonl", "c.jsonl"):
        batch = read_bundle(Path(bundle))
        Path(bundle).unlink()
        header = batch.header.with_changes(policy=under.policy_json, scenario_set_digest=under.digest)
        write_bundle(Path(bundle), batch._replace(header=header))
    ran = replays(*ASKED)
    assert (ran.code, "2 replays run again" in ran.out) == (0, True), ran.err


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda: Path("scenarios.yaml").write_text(SCENARIOS.replace("{tool_called: cancel}", "{tool_called: x}")),
            "is not the scenario file",
        ),
        (lambda: Path("scenarios.yaml").write_text(SCENARIOS.replace("- id: cancel", "- id: other")), "It has no replay 'cancel'."),
        (lambda: Path("cancel.json").unlink(), "'cancel.json' cannot be read"),
        (lambda: Path("cancel.json").write_text("{}"), "is not the scenario file"),
        (lambda: Path("evalplatform.yaml").write_text("version: 1\nproject: shop\n"), "the project names no scenario file"),
    ],
)
def test_determinism_that_cannot_be_told_has_no_answer_and_says_why(replays: Command, edit: object, message: str) -> None:
    assert callable(edit)
    edit()
    ran = replays(*ASKED, "--junit", "j.xml")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert cases(Path("j.xml")) == {"gate: can be decided": "error"}


def test_batches_without_a_compared_replay_have_nothing_to_run_again(replays: Command) -> None:
    for bundle in ("b.jsonl", "c.jsonl"):
        batch = read_bundle(Path(bundle))
        Path(bundle).unlink()
        write_bundle(Path(bundle), batch._replace(runs=tuple(run.with_changes(leg="live") for run in batch.runs)))
    ran = replays(*ASKED)
    assert (ran.code, "no scenario has a replay with a verdict on both sides" in ran.err) == (2, True)


def test_a_remembered_gate_is_as_strict_and_one_without_an_answer_is_a_failed_check(
    replays: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bundle in ("b.jsonl", "c.jsonl"):
        graded_otherwise(bundle, "cancel")
        assert replays("push", bundle).code == 0
    asked = ("gate", "--record", "--require-replay-determinism", "--branch", "main")
    ran = replays(*asked)
    assert (ran.code, "remembered on main; flagged" in ran.err) == (1, True)
    Path("cancel.json").unlink()
    monkeypatch.setenv("GITHUB_RUN_ID", "8")
    ran = replays(*asked)
    assert (ran.code, "remembered on main; a failed check" in ran.err) == (2, True)
    assert "'cancel.json' cannot be read" in ran.err
