"""`evalplatform run`: from the scenarios of a project to a bundle, what is said of it, and what is refused before anything runs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle
from tests.cli.conftest import Command

EXAMPLE = Path(__file__).parents[2] / "examples" / "refund-agent"
CI_VARIABLES = ("GITHUB_EVENT_NAME", "GITHUB_SHA", "GITHUB_REF_NAME")


@pytest.fixture
def example(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped example, outside of any repository and of the CI that runs this test."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".evalplatform", "__pycache__"))
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def edited(folder: Path, old: str, new: str) -> None:
    file = folder / "scenarios.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def result(command: Command, *arguments: object) -> dict[str, object]:
    ran = command("run", "--json", *arguments)
    assert ran.code == 0, ran.err
    return dict(json.loads(ran.out))


def test_the_shipped_example_runs_and_its_bundle_is_stored_and_compared(example: Path, command: Command) -> None:
    ran = command("run", "--runs", 2)
    assert ran.code == 0, ran.err
    assert "runs         8: 8 passed of 8 graded" in ran.out
    assert "refund-under-threshold  2/2            2        critical" in ran.out
    (bundle,) = (example / ".evalplatform" / "bundles").glob("*.jsonl")
    assert f"`evalplatform push {bundle}` stores the batch." in ran.err
    assert command("push", bundle).code == 0
    edited(example, "final_text_contains: refunded", "final_text_contains: thank you")
    worse = result(command, "--runs", 2)
    assert command("push", worse["bundle"]).code == 0
    compared = command("diff")
    assert compared.code == 1
    assert "regressed" in compared.out
    assert "refund-under-threshold" in compared.out


def test_runs_that_did_not_pass_are_named_with_their_reasons(example: Path, command: Command) -> None:
    edited(example, "final_text_contains: refunded", "final_text_contains: thank you")
    ran = command("run", "--runs", 1)
    assert ran.code == 0
    assert (
        "did not pass:\n  refund-under-threshold run 1: failed: 1 of 5 checked assertions failed: final_text_contains: thank you" in ran.out
    )


def test_without_a_number_a_scenario_runs_as_often_as_the_gate_says(example: Path, command: Command) -> None:
    edited(example, "  target_drop: 50\n", "  target_drop: 50\n  runs: 3\n")
    assert result(command)["made_runs"] == 12
    one = result(command, "--scenario", "two-orders")
    assert one["made_runs"] == 3
    assert {run["scenario_id"] for run in one["runs"]} == {"two-orders"}  # type: ignore[attr-defined]


def test_a_bundle_that_was_named_and_is_whole_is_not_overwritten(example: Path, command: Command) -> None:
    result(command, "--runs", 1, "--out", "b.jsonl")
    before = (example / "b.jsonl").read_bytes()
    again = command("run", "--runs", 1, "--out", "b.jsonl")
    assert (again.code, (example / "b.jsonl").read_bytes()) == (2, before)
    assert "is finished: nothing can be added to it" in again.err
    other = command("run", "--runs", 2, "--out", "b.jsonl")
    assert other.code == 2
    assert "holds another batch: name a new file" in other.err


def test_an_agent_of_unknown_cost_is_cut_short_under_a_cap_and_exits_with_2(example: Path, command: Command) -> None:
    ran = command("run", "--runs", 1, "--max-cost-usd", 1)
    assert ran.code == 2
    assert "error: the batch was cut short: the agent does not state what a run costs" in ran.err
    assert "truncated: the agent does not state" in ran.out


def test_an_agent_that_cannot_be_run_at_all_exits_with_2_and_says_why(example: Path, command: Command) -> None:
    edited(example, "refund_agent:answer", "refund_agent:reply")
    ran = command("run", "--runs", 1)
    assert ran.code == 2
    assert "could not run (harness): cannot_start: the function cannot be called" in ran.out
    assert "error: no run could be graded" in ran.err


@pytest.mark.parametrize(
    ("arguments", "old", "new", "message"),
    [
        (
            ("--scenario", "two-order"),
            "",
            "",
            "unknown scenario 'two-order' (known: refund-over-threshold, refund-under-threshold, two-orders, ",
        ),
        (("--runs", "51"), "", "", "'--runs': must be less than or equal to 50"),
        ((), "tool_not_called: issue_refund", "tool_not_caled: issue_refund", "Did you mean 'tool_not_called'?"),
        (
            (),
            'agent:\n  python: {callable: "refund_agent:answer"}\n',
            "",
            "scenarios.yaml: agent: says how the agent is run, and is missing",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_bundle_is_begun(
    example: Path, command: Command, arguments: tuple[str, ...], old: str, new: str, message: str
) -> None:
    if old:
        edited(example, old, new)
    ran = command("run", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert not (example / ".evalplatform" / "bundles").exists()


def test_a_project_without_scenarios_says_what_is_missing(example: Path, command: Command) -> None:
    (example / "evalplatform.yaml").write_text("version: 1\nproject: empty\n")
    ran = command("run")
    assert ran.code == 2
    assert "evalplatform.yaml: scenarios: names the scenario file, and is missing" in ran.err


def commit(folder: Path) -> str:
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    (folder / ".gitignore").write_text("__pycache__\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_the_checkouts_unless_files_were_edited_since(example: Path, command: Command) -> None:
    at = commit(example)
    ran = command("run", "--runs", 1, "--out", "clean.jsonl")
    assert ran.code == 0, ran.err
    assert read_bundle(example / "clean.jsonl").header.commit == at
    assert "git does not track" not in ran.err
    (example / "new_tool.py").write_text("")
    ran = command("run", "--runs", 1, "--out", "beside.jsonl")
    assert "note: git does not track clean.jsonl and 1 more: if the agent uses that, the recorded commit does not hold it." in ran.err
    assert read_bundle(example / "beside.jsonl").header.commit == at
    edited(example, "final_text_contains: refunded", "final_text_contains: Order")
    ran = command("run", "--runs", 1, "--out", "edited.jsonl")
    assert "note: no commit is recorded: files were edited since it" in ran.err
    header = read_bundle(example / "edited.jsonl").header
    assert (header.commit, header.branch, header.ci_event) == (None, None, None)


@pytest.mark.parametrize(
    ("event", "flags", "branch", "ci_event"),
    [
        ("push", (), "main", "push"),
        ("pull_request", (), None, "pull_request"),
        ("pull_request", ("--branch", "topic"), "topic", "pull_request"),
        ("schedule", (), None, None),
    ],
)
def test_a_branch_is_recorded_for_a_push_build_and_never_for_a_pull_request(
    example: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    flags: tuple[str, ...],
    branch: str | None,
    ci_event: str | None,
) -> None:
    for name, value in zip(CI_VARIABLES, (event, "c0ffee", "main"), strict=True):
        monkeypatch.setenv(name, value)
    assert command("run", "--runs", 1, "--out", "b.jsonl", *flags).code == 0
    header = read_bundle(example / "b.jsonl").header
    assert (header.commit, header.branch, header.ci_event) == ("c0ffee", branch, ci_event)
