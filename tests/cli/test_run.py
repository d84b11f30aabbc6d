"""`evalplatform run`: from the scenarios of a project to a bundle, what is said of it, and what is refused before anything runs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.bundle_reopened import reopened_bundle
from tests.cli.conftest import Command
from tests.support.small_disk import small_disk

EXAMPLE = Path(__file__).parents[2] / "examples" / "refund-agent"
CI_VARIABLES = ("GITHUB_EVENT_NAME", "GITHUB_SHA", "GITHUB_REF_NAME", "GITHUB_REF_TYPE", "GITHUB_REF")


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
    ran = command("run", "--runs", 4)
    assert ran.code == 0, ran.err
    assert "runs         16: 16 passed of 16 graded" in ran.out
    assert "refund-under-threshold  4/4            4        critical" in ran.out
    (bundle,) = (example / ".evalplatform" / "bundles").glob("*.jsonl")
    assert f"`evalplatform push {bundle}` stores the batch." in ran.err
    assert command("push", bundle).code == 0
    edited(example, "final_text_contains: refunded", "final_text_contains: thank you")
    worse = result(command, "--runs", 4)
    assert command("push", worse["bundle"]).code == 0
    compared = command("diff")
    assert compared.code == 1
    assert "The gate would fail (1 critical drop)" in compared.out
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
    one = result(command, "--scenario", "two-orders", "--out", "one.jsonl")
    assert one["made_runs"] == 3
    batch = read_bundle(example / "one.jsonl").batch
    assert (batch.header.set_scenarios, batch.is_partial) == (4, True), "the batch says that it is of one scenario of four"
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


def interrupted(bundle: Path) -> int:
    """Leave a bundle as a kill does that comes before its last run, and return how many runs it still holds."""
    lines = bundle.read_bytes().splitlines(keepends=True)
    bundle.write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    return len(lines) - 3


def test_what_was_interrupted_is_gone_on_with_where_a_commit_says_that_nothing_was_edited_since(example: Path, command: Command) -> None:
    first = command("run", "--runs", 1, "--commit", "c0ffee")
    (bundle,) = (example / ".evalplatform" / "bundles").glob("*.jsonl")
    assert "should it be stopped" not in first.err
    kept = interrupted(bundle)
    again = command("run", "--runs", 1, "--commit", "c0ffee")
    assert again.code == 0
    assert f"going on with {bundle}: {kept} runs there already" in again.err
    assert list((example / ".evalplatform" / "bundles").glob("*.jsonl")) == [bundle]


def test_without_a_commit_a_batch_is_begun_anew_and_out_goes_on_with_the_unfinished_one(example: Path, command: Command) -> None:
    first = command("run", "--runs", 1)
    (old,) = (example / ".evalplatform" / "bundles").glob("*.jsonl")
    assert f"should it be stopped: the same command with `--out {old}` goes on with it." in first.err
    interrupted(old)
    left = old.read_bytes()
    anew = command("run", "--runs", 1)
    assert f"note: {old} is unfinished, and left as it is: without a commit, the agent may have been edited since." in anew.err
    assert f"note: the same command with `--out {old}` goes on with it." in anew.err
    assert (old.read_bytes(), len(list(old.parent.glob("*.jsonl")))) == (left, 2)
    assert f"going on with {old}: 3 runs there already" in command("run", "--runs", 1, "--out", old).err
    assert read_bundle(old).is_whole


def test_a_full_disk_without_a_commit_says_what_goes_on_with_the_bundle(example: Path, command: Command) -> None:
    edited(example, "refund_agent:answer", "wordy_agent:answer")
    (example / "wordy_agent.py").write_text(
        "import refund_agent\n\n\ndef answer(request):\n    reply = refund_agent.answer(request)\n"
        "    reply['messages'][-1]['content'] += ' ' + 'x' * 20_000\n    return reply\n"
    )
    bundles = example / ".evalplatform" / "bundles"
    with small_disk(bundles, kibibytes=64):
        full = command("run", "--runs", 4)
        (bundle,) = bundles.glob("*.jsonl")
        assert full.code == 2
        assert f"Once that is mended: what is finished is kept; the same command with `--out {bundle}` goes on with it." in full.err
        assert "goes on from there" not in full.err
        (example / "kept.jsonl").write_bytes(bundle.read_bytes())
    assert command("run", "--runs", 4, "--out", "kept.jsonl").code == 0
    assert len(read_bundle(example / "kept.jsonl").runs) == 16


def test_a_bundle_that_another_process_records_into_is_left_to_it(example: Path, command: Command) -> None:
    command("run", "--runs", 1, "--commit", "c0ffee")
    (bundle,) = (example / ".evalplatform" / "bundles").glob("*.jsonl")
    interrupted(bundle)
    with reopened_bundle(bundle):
        beside = command("run", "--runs", 1, "--commit", "c0ffee")
        named = command("run", "--runs", 1, "--commit", "c0ffee", "--out", bundle)
    assert beside.code == 0
    assert "recording into" in beside.err
    assert len(list(bundle.parent.glob("*.jsonl"))) == 2
    assert (named.code, "is being recorded by another process" in named.err) == (2, True)


def test_a_kill_before_anything_was_recorded_leaves_a_file_that_is_begun_anew(example: Path, command: Command) -> None:
    assert command("run", "--runs", 1, "--out", "b.jsonl").code == 0
    (example / "b.jsonl").write_bytes((example / "b.jsonl").read_bytes()[:100])
    again = command("run", "--runs", 1, "--out", "b.jsonl")
    assert again.code == 0, again.err
    assert len(read_bundle(example / "b.jsonl").runs) == 4


def test_runs_that_could_not_run_are_made_again_by_naming_their_bundle(example: Path, command: Command) -> None:
    edited(example, "refund_agent:answer", "absent_agent:answer")
    down = command("run", "--runs", 1, "--out", "b.jsonl")
    assert "`--out b.jsonl` makes the runs again that could not run." in down.err
    source = (example / "refund_agent.py").read_text()
    (example / "absent_agent.py").write_text(source)
    again = command("run", "--runs", 1, "--out", "b.jsonl")
    assert again.code == 0, again.err
    assert "going on with b.jsonl: 0 runs there already; 4 runs that could not run will be made again" in again.err
    assert [run.outcome for run in read_bundle(example / "b.jsonl").runs] == ["passed"] * 4


def test_an_agent_that_cannot_be_opened_leaves_the_bundle_that_would_be_gone_on_with_as_it_was(
    example: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(example, 'callable: "refund_agent:answer"', 'callable: "refund_agent:answer", env: [AGENT_KEY]')
    monkeypatch.setenv("AGENT_KEY", "x")
    assert command("run", "--runs", 1, "--out", "b.jsonl").code == 0
    interrupted(example / "b.jsonl")
    before = (example / "b.jsonl").read_bytes()
    monkeypatch.delenv("AGENT_KEY")
    refused = command("run", "--runs", 1, "--out", "b.jsonl")
    assert (refused.code, "AGENT_KEY" in refused.err) == (2, True), refused.err
    assert (example / "b.jsonl").read_bytes() == before


def test_an_agent_of_unknown_cost_is_cut_short_under_a_cap_and_exits_with_2(example: Path, command: Command) -> None:
    ran = command("run", "--runs", 1, "--max-cost-usd", 1)
    assert ran.code == 2
    assert "error: the batch is truncated: the agent does not state what a run costs" in ran.err
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


def test_a_checkout_that_is_edited_while_the_batch_runs_makes_it_a_truncated_one(example: Path, command: Command) -> None:
    agent = example / "refund_agent.py"
    agent.write_text(agent.read_text() + "open(__file__.replace('refund_agent.py', 'scenarios.yaml'), 'a').write('# edited')\n")
    at = commit(example)
    ran = command("run", "--runs", 1, "--out", "b.jsonl")
    assert ran.code == 2
    assert "error: the batch is truncated: the checkout was changed while it ran, so not every run is of the commit" in ran.err
    bundle = read_bundle(example / "b.jsonl")
    assert bundle.header.commit == at
    assert bundle.batch.truncated


@pytest.mark.parametrize(
    ("event", "ref", "flags", "branch", "ci_event"),
    [
        ("push", {"GITHUB_REF_TYPE": "branch"}, (), "main", "push"),
        ("push", {"GITHUB_REF": "refs/heads/main"}, (), "main", "push"),
        ("push", {"GITHUB_REF_TYPE": "tag", "GITHUB_REF": "refs/tags/main"}, (), None, "push"),
        ("push", {}, (), None, "push"),
        ("pull_request", {"GITHUB_REF_TYPE": "branch"}, (), None, "pull_request"),
        ("pull_request", {"GITHUB_REF_TYPE": "branch"}, ("--branch", "topic"), "topic", "pull_request"),
        ("schedule", {"GITHUB_REF_TYPE": "branch"}, (), None, None),
    ],
)
def test_a_branch_is_recorded_for_a_push_of_one_and_never_for_a_tag_or_a_pull_request(
    example: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    ref: dict[str, str],
    flags: tuple[str, ...],
    branch: str | None,
    ci_event: str | None,
) -> None:
    for name, value in {"GITHUB_EVENT_NAME": event, "GITHUB_SHA": "c0ffee", "GITHUB_REF_NAME": "main", **ref}.items():
        monkeypatch.setenv(name, value)
    assert command("run", "--runs", 1, "--out", "b.jsonl", *flags).code == 0
    header = read_bundle(example / "b.jsonl").header
    assert (header.commit, header.branch, header.ci_event) == ("c0ffee", branch, ci_event)
