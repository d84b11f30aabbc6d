"""`evalplatform gate`: its exit code, what it prints and writes, how it finds its baseline, and what a CI build is told."""

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evalplatform.gates.verification import verify_certificate
from evalplatform.reports.batch_comparison_v3 import read_batch_comparison_v3
from evalplatform.runs.bundle import BundleSummary
from tests.cli.conftest import Command, Ran
from tests.support.compared_batches import Told, batch_of, write_bundle

PROJECT = "my-project"
POLICY = {"target_drop": 50}
PUSHED = re.compile(r"b-\d{8}t\d{6}-[0-9a-f]{8}")
STEADY = {"lookup": Told("P" * 10), "refund": Told("P" * 10)}
FALLEN = {"lookup": Told("P" * 10), "refund": Told("F" * 10)}


@pytest.fixture
def bundles(command: Command) -> tuple[str, str]:
    """Two bundles under a gate policy, of which the second has a drop that is significant, a near miss, and a drop that is neither."""
    before = {"collapse": Told("P" * 10), "half": Told("P" * 10), "near": Told("P" * 10), "old": Told("PPPPPPPPFF")}
    after = {"collapse": Told("F" * 10), "half": Told("FFFFPPPPPP"), "near": Told("FPPPPPPPPP"), "old": Told("PPPPPPPFFF")}
    write_bundle(Path("b.jsonl"), batch_of(before, policy=POLICY))
    write_bundle(Path("c.jsonl"), batch_of(after, hours=1, policy=POLICY))
    return "b.jsonl", "c.jsonl"


def gated(command: Command, *options: object) -> Ran:
    return command("gate", "--baseline", "b.jsonl", "--candidate", "c.jsonl", *options)


def pushed(command: Command, batch: BundleSummary) -> str:
    path = write_bundle(Path(f"{batch.batch.id}.jsonl"), batch)
    ran = command("push", path)
    assert ran.code == 0, ran.err
    return PUSHED.findall(ran.out)[0]


def on_main(told: dict[str, Told], *, hours: int, **header: object) -> BundleSummary:
    facts = {"project": PROJECT, "policy": POLICY, "branch": "main", "ci_event": "push", "commit": f"c0ffee{hours}"}
    return batch_of(told, hours=hours, **{**facts, **header})


def cases(path: Path) -> dict[str, str]:
    """What the JUnit file says of each case: passed, failure, error or skipped."""
    found = ElementTree.fromstring(path.read_bytes()).iter("testcase")
    return {f"{case.get('classname')}: {case.get('name')}": case[0].tag if len(case) else "passed" for case in found}


def test_a_significant_drop_fails_the_gate_and_a_near_miss_does_not(command: Command, bundles: tuple[str, str]) -> None:
    ran = gated(command)
    assert ran.code == 1
    assert ran.out.startswith("The gate would fail (1 significant drop).")
    assert "  - collapse  standard  10/10 → 0/10 (p 0.0000): drop, significant; gates" in ran.out
    assert "  - half  standard  10/10 → 6/10 (p 0.0433): listed, not proven; does not gate" in ran.out
    assert command("gate", "--baseline", "b.jsonl", "--candidate", "b.jsonl").code == 0


def test_without_a_policy_a_flip_fails_and_what_could_not_be_compared_has_no_answer(command: Command) -> None:
    for name, letter in (("p", "P"), ("f", "F"), ("h", "H")):
        write_bundle(Path(f"{name}.jsonl"), batch_of({"a": Told(letter)}, hours=ord(letter)))
    for candidate, code, state in (("p", 0, "passed"), ("f", 1, "failure"), ("h", 1, "failure")):
        junit = Path("junit.xml")
        ran = command("gate", "--baseline", "p.jsonl", "--candidate", f"{candidate}.jsonl", "--junit", junit)
        assert (ran.code, cases(junit)) == (code, {"gate: a": state})
    ran = command(
        "gate", "--baseline", "h.jsonl", "--candidate", "p.jsonl", "--junit", "junit.xml", "--out-certificate", "certificate.json"
    )
    assert ran.code == 2
    assert cases(Path("junit.xml")) == {"gate: a": "error", "gate: can be decided": "error"}
    assert "certificate.json was not written: no gate policy decides this gate" in ran.err
    assert not Path("certificate.json").exists()


def test_every_file_says_the_same_of_the_gate(command: Command, bundles: tuple[str, str]) -> None:
    files = ("--junit", "j.xml", "--out-json", "g.json", "--out-md", "g.md", "--out-html", "out", "--out-certificate", "c.json")
    ran = gated(command, *files, "--json")
    assert ran.code == 1
    assert Path("g.json").read_text() == ran.out
    assert read_batch_comparison_v3(ran.out.encode()).comparison.verdict == "regressed"
    certificate = Path("c.json").read_bytes()
    assert json.loads(ran.out)["gate"]["certificate"] == json.loads(certificate)
    checked = verify_certificate(certificate)
    assert (checked.problems, checked.fails) == ((), True)
    for written in (Path("g.md").read_text(), Path("out/report.html").read_text()):
        assert "The gate would fail (1 significant drop)." in written.replace("\\", "")
    assert Path("out/report-diffs/collapse.html").is_file()
    assert cases(Path("j.xml")) == {
        "gate: collapse": "failure",
        "gate: half": "passed",
        "gate: near": "passed",
        "gate: old": "passed",
        "gate: suite": "passed",
    }


def test_a_drop_spread_over_the_suite_is_a_case_of_its_own(command: Command) -> None:
    names = [f"s{place}" for place in range(7)]
    write_bundle(Path("b.jsonl"), batch_of({name: Told("P" * 10) for name in names}, policy=POLICY))
    write_bundle(Path("c.jsonl"), batch_of({name: Told("F" + "P" * 9) for name in names}, hours=1, policy=POLICY))
    assert gated(command, "--junit", "j.xml").code == 1
    assert [name for name, state in cases(Path("j.xml")).items() if state == "failure"] == ["gate: suite"]


def test_an_earlier_success_does_not_stay_behind_when_a_gate_has_no_answer(command: Command, bundles: tuple[str, str]) -> None:
    Path("j.xml").write_text("<testsuites/>")
    ran = command("gate", "--baseline", "b.jsonl", "--candidate", "gone.jsonl", "--junit", "j.xml")
    assert (ran.code, cases(Path("j.xml"))) == (2, {"gate: can be decided": "error"})
    assert "gone.jsonl: cannot be read" in Path("j.xml").read_text()


def test_a_build_shows_annotations_that_no_name_of_a_scenario_breaks_out_of(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "50% off, ::error::x"
    write_bundle(Path("b.jsonl"), batch_of({name: Told("P" * 10)}, policy=POLICY))
    write_bundle(Path("c.jsonl"), batch_of({name: Told("F" * 10)}, hours=1, policy=POLICY))
    assert "::error" not in gated(command).err, "only a build of GitHub Actions reads them"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = [line for line in gated(command).err.splitlines() if line.startswith("::")]
    assert lines == [
        "::error title=gate%3A 50%25 off%2C %3A%3Aerror%3A%3Ax::standard 10/10 → 0/10 (p 0.0000): drop, significant",
    ]


def test_no_name_of_a_scenario_breaks_the_files_that_a_build_reads(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    names = ["a\u202eb", "\ufffe]]><b>", "  two  ", "\x7f\x85::error::", "|`*_"]
    write_bundle(Path("b.jsonl"), batch_of({name: Told("P" * 10) for name in names}, policy=POLICY))
    write_bundle(Path("c.jsonl"), batch_of({name: Told("F" * 10) for name in names}, hours=1, policy=POLICY))
    ran = gated(command, "--json", "--junit", "j.xml")
    assert ran.code == 1
    assert len(json.loads(ran.out)["gate"]["certificate"]["gating"]) == len(names)
    failed = [name for name, state in cases(Path("j.xml")).items() if state == "failure"]
    assert len(failed) == len(names)
    assert "gate: ⟨U+FFFE⟩]]><b>" in failed
    shown = [line for line in ran.err.splitlines() if line.startswith("::error")]
    assert len(shown) == len(names)
    assert "\u202e" not in ran.err + Path("summary.md").read_text()


def test_many_annotations_end_with_how_many_are_left(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    names = [f"s{place:02}" for place in range(12)]
    write_bundle(Path("b.jsonl"), batch_of({name: Told("P") for name in names}))
    write_bundle(Path("c.jsonl"), batch_of({name: Told("F") for name in names}, hours=1))
    errors = [line for line in gated(command).err.splitlines() if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1] == "::error title=And more::3 further errors of this gate; the report names them all."


def test_the_summary_of_a_step_is_added_to_and_never_passes_what_is_shown(
    command: Command, bundles: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = Path("summary.md")
    summary.write_text("# Earlier\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert gated(command).code == 1
    first = summary.read_text()
    assert first.startswith("# Earlier\n")
    assert "The gate would fail (1 significant drop)." in first.replace("\\", "")
    assert command("gate", "--baseline", "b.jsonl", "--candidate", "gone.jsonl").code == 2
    assert "**The gate has no answer:** gone.jsonl: cannot be read" in summary.read_text().replace("\\", "")
    summary.write_text("x" * 999_000)
    assert gated(command).code == 1
    assert summary.stat().st_size <= 1_000_000
    assert summary.read_text().endswith("_Cut here: the summary of a step holds no more; the report that `--out-md` writes is whole._\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    ran = gated(command)
    assert (ran.code, "cannot be written" in ran.err) == (1, True), "a summary decides nothing"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--replication",), "--replication: was removed: one significant comparison is enough"),
        (("--replication", "2"), "--replication: was removed: one significant comparison is enough"),
        (("--replication=2",), "--replication: was removed: one significant comparison is enough"),
        (("--baseline-branch", ""), "--baseline-branch: takes the name of a branch, on one line; not ''."),
        (("--baseline-branch", "main", "--branch", "a\nb"), "--branch: takes the name of a branch, on one line"),
        (("--baseline", "b.jsonl", "--baseline-branch", "main"), "--baseline: names a baseline, and --baseline-branch names another"),
        (("--baseline", "b.jsonl", "--candidate", "c.jsonl", "--record"), "--baseline: is a bundle, and a remembered gate is of stored"),
        (("--candidate", "c.jsonl", "--baseline-branch", "main"), "--candidate: is a bundle, and a gate against a branch is of stored"),
        (("--baseline", "b.jsonl", "--candidate", "c.jsonl", "--junit", "b.jsonl"), "is one of the files that are read"),
        (("--baseline", "b.jsonl", "--candidate", "c.jsonl", "--junit", "x", "--out-md", "x"), "names the file that --out-md names"),
        (("--record", "policy", "show"), "--record: is an option of `gate` itself; options of `policy` stand behind it."),
    ],
)
def test_what_makes_no_gate_is_refused_in_one_sentence(
    command: Command, bundles: tuple[str, str], arguments: Sequence[str], message: str
) -> None:
    ran = command("gate", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_diff_refuses_a_replication_too(command: Command, bundles: tuple[str, str]) -> None:
    ran = command("diff", "--replication", *bundles)
    assert (ran.code, ran.out) == (2, "")
    assert "was removed" in ran.err


def test_without_names_the_newest_batch_is_gated_against_the_one_before(command: Command, project: Path) -> None:
    ran = command("gate")
    assert (ran.code, "no batch is stored" in ran.err, Path(".evalplatform").exists()) == (2, True, False)
    older = pushed(command, on_main(STEADY, hours=1))
    ran = command("gate")
    assert (ran.code, f"there is no baseline for {older}" in ran.err) == (2, True)
    newer = pushed(command, on_main(FALLEN, hours=2))
    ran = command("gate")
    assert ran.code == 1
    assert f"  Baseline: {older} (the previous batch)" in ran.out
    assert f"Candidate: {newer}, commit c0ffee2" in ran.out
    assert command("gate", "--candidate", older[-8:], "--baseline", newer[-8:]).code == 0


def test_the_first_push_build_seeds_its_branch_and_the_next_gate_finds_it_with_its_history(command: Command, project: Path) -> None:
    first = pushed(command, on_main(STEADY, hours=1))
    ran = command("gate", "--baseline-branch", "main")
    assert ran.code == 0
    assert f"  Baseline: {first} itself: nothing is remembered on main yet, so it becomes the first baseline there" in ran.out
    assert "nothing is remembered of this gate, so it is no baseline yet: --record remembers it." in ran.err
    recorded = command("gate", "--baseline-branch", "main", "--record")
    assert recorded.code == 0
    assert f"gate local:{first}:{first}: remembered on main; clean" in recorded.err
    assert "already remembered, nothing changed" in command("gate", "--baseline-branch", "main", "--record").err

    second = pushed(command, on_main(FALLEN, hours=2))
    ran = command("gate", "--baseline-branch", "main", "--record", "--out-json", "g.json")
    assert ran.code == 1
    found = f"  Baseline: {first}, what the last remembered gate on main gated: clean, "
    assert re.search(rf"^{re.escape(found)}\d{{4}}-\d\d-\d\d \d\d:\d\d UTC, commit c0ffee1$", ran.out, re.M)
    pools = "10 runs for lookup, pool stopped: end; 10 runs for refund, pool stopped: end"
    assert f"  Baseline: history for 2 scenarios ({pools})" in ran.out
    assert f"gate local:{first}:{second}: remembered on main; flagged" in ran.err
    certificate = json.loads(Path("g.json").read_text())["gate"]["certificate"]
    assert (certificate["choice"], certificate["branch"], certificate["history"]) == ("branch", "main", [first])

    pull_request = pushed(command, on_main(FALLEN, hours=3, branch=None, ci_event="pull_request"))
    ran = command("gate", "--baseline-branch", "main")
    assert ran.code == 0, "what main had already is nobody else's doing"
    assert (f"  Baseline: {second}, what the last remembered gate on main gated: flagged, ") in ran.out
    assert f"Candidate: {pull_request}" in ran.out


def test_a_partial_batch_is_gated_where_it_is_named_and_becomes_no_baseline(command: Command, project: Path) -> None:
    whole = pushed(command, on_main(STEADY, hours=1))
    partial = pushed(command, on_main({"refund": Told("F" * 10)}, hours=2, set_scenarios=2))
    assert f"Candidate: {whole}" in command("gate", "--baseline-branch", "main", "--record").out
    named = command("gate", "--candidate", partial, "--baseline-branch", "main", "--record")
    assert (named.code, "remembered on main; flagged" in named.err) == (1, True)
    pushed(command, on_main(STEADY, hours=3))
    assert f"Baseline: {whole}, what the last remembered gate on main gated: clean" in command("gate", "--baseline-branch", "main").out


@pytest.mark.parametrize(
    ("lacking", "why"),
    [
        ({"truncated_reason": "the spend cap was reached"}, "is truncated, so that planned runs are missing"),
        ({"set_scenarios": 5}, "was recorded of some of the scenarios only"),
    ],
)
def test_a_batch_that_lacks_something_cannot_seed_its_branch(command: Command, project: Path, lacking: dict[str, object], why: str) -> None:
    batch = pushed(command, on_main(STEADY, hours=1, **lacking))
    ran = command("gate", "--candidate", batch, "--baseline-branch", "main", "--record")
    assert (ran.code, f"{batch} cannot become the first baseline of the branch 'main': it {why}." in ran.err) == (2, True)
    assert "remembered" not in ran.err


def test_a_pull_request_that_finds_nothing_says_how_to_seed_the_branch(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(command, on_main(STEADY, hours=1))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    ran = command("gate", "--baseline-branch", "main", "--record", "--junit", "j.xml")
    assert (ran.code, ran.out) == (2, "")
    assert "`evalplatform gate --baseline-branch main --branch main --record`" in ran.err
    assert cases(Path("j.xml")) == {"gate: can be decided": "error"}
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    monkeypatch.setenv("GITHUB_REF_TYPE", "branch")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    assert command("gate", "--baseline-branch", "main").code == 0


def test_a_recorded_gate_in_a_build_is_one_record_an_attempt(command: Command, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed(command, on_main(STEADY, hours=1))
    keys = []
    for attempt in ("1", "1", "2"):
        for name, value in (("RUN_ID", "77"), ("RUN_ATTEMPT", attempt), ("JOB", "evaluate")):
            monkeypatch.setenv(f"GITHUB_{name}", value)
        ran = command("gate", "--baseline-branch", "main", "--branch", "main", "--record")
        assert ran.code == 0
        keys.append(re.findall(r"^gate (\S+): (remembered|already)", ran.err, re.M)[0])
    assert [state for _, state in keys] == ["remembered", "already", "remembered"]
    assert re.fullmatch(r"77-1-[0-9a-f]{12}", keys[0][0])
    assert keys[2][0].startswith("77-2-")


def test_a_gate_without_an_answer_is_remembered_as_a_failed_check_and_is_no_baseline(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = pushed(command, on_main({"a": Told("H")}, hours=1, policy=None))
    newer = pushed(command, on_main({"a": Told("P")}, hours=2, policy=None))
    ran = command("gate", "--record")
    assert ran.code == 2
    assert f"gate local:{older}:{newer}: remembered on main; a failed check" in ran.err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    seeded = command("gate", "--baseline-branch", "main")
    assert seeded.code == 0
    for said in (seeded.out, Path("summary.md").read_text().replace("\\", "")):
        assert f"Baseline: {newer} itself: nothing is remembered on main yet" in said


def test_an_unreadable_history_fails_the_gate_as_unverified(command: Command, project: Path) -> None:
    damaged = pushed(command, on_main(STEADY, hours=1))
    for hours in (2, 3):
        assert command("gate", "--baseline-branch", "main", "--record").code == 0
        pushed(command, on_main(STEADY, hours=hours))
    with closing(sqlite3.connect(".evalplatform/evalplatform.db")) as database, database:
        damage = "UPDATE batch_runs SET outcome = 'nonsense' WHERE batch = (SELECT id FROM batches WHERE batch_id = ?)"
        changed = database.execute(damage, [damaged])
        assert changed.rowcount == 20
    ran = command("gate", "--baseline-branch", "main", "--record", "--junit", "j.xml")
    assert ran.code == 1
    assert "Baseline: the history could not be read, so the gate fails as unverified: a stored run is damaged: outcome" in ran.out
    assert cases(Path("j.xml")) == {"gate: lookup": "passed", "gate: refund": "passed", "gate: suite": "passed", "gate: history": "failure"}
    assert "remembered on main; flagged" in ran.err


def test_a_scenario_that_is_called_like_a_workflow_command_is_none_in_the_output(command: Command) -> None:
    name = "::stop-commands::x"
    write_bundle(Path("b.jsonl"), batch_of({name: Told("P" * 10)}, policy=POLICY))
    write_bundle(Path("c.jsonl"), batch_of({name: Told("F" * 10)}, hours=1, policy=POLICY))
    ran = gated(command)
    assert name in ran.out
    assert not [line for line in ran.out.splitlines() if line.strip().startswith("::")]
