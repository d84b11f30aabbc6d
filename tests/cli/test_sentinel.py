"""`evalplatform sentinel`: recordings beside live runs, the report, the exit codes, and what is kept of a night."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalplatform.project.load import load_project
from evalplatform.runs.night import Night
from evalplatform.wiring import OpenedProject
from tests.cli.conftest import Command
from tests.cli.test_run import edited
from tests.support.command_line import started
from tests.support.planned_agent import PlannedAgent, running_agent

SCENARIOS = """\
version: 1
agent:
  http: {url: "URL", concurrency: 4}
scenarios:
  - {id: cancel, message: Cancel it., assertions: [final_text_contains: May], recording: rec/cancel.json}
  - {id: lookup, message: Look it up., assertions: [final_text_contains: May], recording: rec/lookup.json}
  - {id: unrecorded, message: Say when., assertions: [final_text_contains: May]}
  - {id: unchecked, message: Say why.}
"""


@dataclass
class Watched:
    """A project whose agent does as it is told, with a recording of two of its scenarios."""

    folder: Path
    agent: PlannedAgent

    @property
    def nights(self) -> list[Night]:
        with OpenedProject(load_project(self.folder / "evalplatform.yaml")) as opened:
            return list(opened.monitoring_store.nights())


@pytest.fixture
def watched(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "evalplatform.yaml").write_text("version: 1\nproject: watched\nscenarios: scenarios.yaml\n")
    with running_agent() as agent:
        scenarios = SCENARIOS.replace("URL", agent.url)
        (tmp_path / "scenarios.yaml").write_text(re.sub(r", recording: [^}]*", "", scenarios))
        bundle = json.loads(command("run", "--json").out)["bundle"]
        for name in ("cancel", "lookup"):
            assert command("batches", "recording", name, "--batch", bundle, "--out", tmp_path / "rec" / f"{name}.json").code == 0
        (tmp_path / "scenarios.yaml").write_text(scenarios)
        agent.behave()
        yield Watched(tmp_path, agent)


def test_the_report_states_each_scenarios_count_its_rule_and_how_often_chance_alone_gets_there(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="FPPP", lookup="FFFP", unrecorded="PPPP")
    ran = command("sentinel", "--runs", 4)
    assert ran.code == 1, ran.err
    by_chance = "one that does so 10% of the time gets there on 0.37% of nights"
    replay, live = (watched.nights[0].replay_batch, watched.nights[0].live_batch)
    assert ran.out.splitlines() == [
        "Drift: 1 of 3 scenarios drifted.",
        "",
        "Live run sets (4 live runs per scenario, reference fail rate 10%):",
        "  - cancel  1 of 4 graded live runs failed: no drift (drifts at 3)",
        f"  - lookup  3 of 4 graded live runs failed: drift (drifts at 3 of 4; {by_chance})",
        "  - unrecorded  0 of 4 graded live runs failed: no drift (drifts at 3)",
        "      tool path not watched: it has no recording to compare with",
        "",
        "Not watched, having no assertion: unchecked.",
        "",
        f"replay leg {replay}, live leg {live}",
        f"`evalplatform diff {replay} {live}` shows where they part.",
    ]
    compared = command("diff", replay, live)
    assert "lookup" in compared.out


def test_a_quiet_night_exits_with_0_and_both_legs_are_stored_and_taken_by_no_comparison(watched: Watched, command: Command) -> None:
    ran = command("sentinel", "--runs", 2, "--json")
    assert ran.code == 0, ran.err
    night = json.loads(ran.out)
    assert (night["state"], night["source"], night["reason"]) == ("checked_clean", "sentinel", None)
    with OpenedProject(load_project(watched.folder / "evalplatform.yaml")) as opened:
        replay, live = (opened.batch_store.batch(night[leg]) for leg in ("replay_batch", "live_batch"))
        assert {run.leg for run in opened.batch_store.runs(replay.id)} == {"replay"}
        assert {name: one.planned_runs for name, one in live.header.scenarios.items()} == {"cancel": 2, "lookup": 2, "unrecorded": 2}
        assert opened.batch_store.ids(with_legs=False) == ()
        assert replay.header.policy is None
    listed = command("batches", "list").out.splitlines()[1:]
    assert [line.endswith("leg of a night") for line in listed] == [True, True]
    assert ", leg of a night" in command("batches", "show", live.id).out
    none = command("diff")
    assert none.code == 2
    assert "batch" in none.err
    assert not list((watched.folder / ".evalplatform" / "nights").glob("*"))


def test_another_tool_path_is_drift_though_every_run_passes(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="XXXP")
    ran = command("sentinel", "--runs", 4)
    assert ran.code == 1
    assert "  - cancel  0 of 4 graded live runs failed: no drift (drifts at 3)" in ran.out
    assert "      tool path differs in 3 of 4: drift (drifts at 3 of 4; one that does so 10% of the time" in ran.out


def test_a_recording_that_no_longer_passes_is_a_dead_sensor_whose_live_leg_does_not_run(watched: Watched, command: Command) -> None:
    edited(watched.folder, "message: Cancel it., assertions: [final_text_contains: May]", "message: Cancel it., assertions: [max_steps: 1]")
    ran = command("sentinel", "--runs", 2)
    assert ran.code == 2
    assert ran.out.startswith("The check failed (dead_sensor): 1 scenario could not be watched: cancel.")
    assert "  - cancel: what it stands on no longer passes: " in ran.out
    assert [run for run in watched.agent.asked if run[0] == "cancel"] == []
    assert sorted(watched.agent.asked) == [("lookup", 0), ("lookup", 1), ("unrecorded", 0), ("unrecorded", 1)]
    watched.agent.behave(lookup="FF")
    drifted = command("sentinel", "--runs", 2)
    assert drifted.code == 1, "what was seen to drift goes before what could not be watched"
    assert "Dead sensors" in drifted.out


def test_an_agent_that_cannot_be_asked_drifts_and_never_reads_as_quiet(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="H", lookup="HP")
    ran = command("sentinel", "--runs", 2)
    assert ran.code == 1
    assert "  - cancel  no graded live run: drift, since nothing was seen; not graded: 2 could not run (harness)" in ran.out
    assert "  - lookup  0 of 1 graded live run failed: no drift (drifts at 1); not graded: 1 could not run (harness)" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reference-fail-rate", "110%"], "--reference-fail-rate: must be a rate above 0 and below 1, such as 10% or 0.1 (got '110%')."),
        (["--reference-fail-rate", "often"], "--reference-fail-rate: must be a rate"),
        (["--scenario", "cancle"], "unknown scenario 'cancle'"),
        (["--scenario", "unchecked"], "has no scenario with an assertion"),
        (["--runs", "51"], "--runs"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_for_is_refused_before_anything_runs(
    watched: Watched, command: Command, arguments: list[str], said: str
) -> None:
    ran = command("sentinel", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert watched.agent.asked == []
    assert watched.nights == []


def test_the_reference_rate_may_be_written_as_a_percentage_or_a_fraction(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="FPPP")
    for rate in ("2%", "0.02"):
        ran = command("sentinel", "--runs", 4, "--reference-fail-rate", rate, "--scenario", "cancel")
        assert ran.code == 0, ran.out
        assert "no drift (drifts at 2)" in ran.out
    assert command("sentinel", "--runs", 4, "--reference-fail-rate", "1%", "--scenario", "cancel").code == 1


def test_the_project_file_says_how_the_sentinel_runs_where_no_flag_does(watched: Watched, command: Command) -> None:
    (watched.folder / "evalplatform.yaml").write_text(
        "version: 1\nproject: watched\nscenarios: scenarios.yaml\nsentinel: {runs: 3, reference_fail_rate: 0.3, timezone: Asia/Kolkata}\n"
    )
    ran = command("sentinel", "--json")
    night = json.loads(ran.out)
    assert (night["runs_per_scenario"], night["reference_fail_rate"]) == (3, 0.3)
    assert night["scenarios"][0]["graded"] == 3


def test_the_projects_recipients_are_told_of_a_change_and_of_nothing_else(watched: Watched, command: Command) -> None:
    (watched.folder / "evalplatform.yaml").write_text(
        "version: 1\nproject: watched\nscenarios: scenarios.yaml\nsentinel: {recipients: [ann@example.com, ann@example.com]}\n"
    )
    for plan, kind in (({}, None), ({"cancel": "F"}, "drift_detected"), ({"cancel": "F"}, None), ({}, "recovered")):
        watched.agent.behave(**plan)
        command("sentinel", "--scenario", "cancel")
        alert = watched.nights[0].alert
        assert (None if alert is None else alert.kind) == kind
        assert kind is None or [one.address for one in alert.deliveries] == ["ann@example.com"]  # type: ignore[union-attr]
    (watched.folder / "evalplatform.yaml").write_text("version: 1\nproject: watched\nsentinel: {recipients: [ann]}\n")
    refused = command("sentinel")
    assert refused.code == 2
    assert "evalplatform.yaml:3: sentinel.recipients.0: must be one mail address" in refused.err


def test_a_night_that_was_killed_is_gone_on_with_and_nothing_finished_is_asked_again(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="PPPPS")
    with started("sentinel", "--runs", "5", folder=watched.folder) as process:
        while len(watched.agent.asked) < 12:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = watched.agent.asked
    (left,) = watched.nights
    assert (left.state, left.attempt) == ("pending", 1)
    watched.agent.behave()
    ran = command("sentinel", "--runs", 5, "--json")
    assert ran.code == 0, ran.err
    assert "going on with the night of" in ran.err
    (ended,) = watched.nights
    assert (ended.key, ended.state, ended.attempt) == (left.key, "checked_clean", 2)
    assert {scenario.graded for scenario in ended.scenarios} == {5}
    repeated = set(before) & set(watched.agent.asked)
    assert len(repeated) <= 4, repeated  # at most those that were under way


def test_a_night_of_other_scenarios_is_not_gone_on_with(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="S")
    with started("sentinel", "--runs", "1", folder=watched.folder) as process:
        while not watched.agent.asked:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    watched.agent.behave()
    edited(watched.folder, "Look it up.", "Look it up now.")
    (watched.folder / "rec" / "lookup.json").write_text(
        (watched.folder / "rec" / "lookup.json").read_text().replace("Look it up.", "Look it up now.")
    )
    ran = command("sentinel", "--runs", 1)
    assert ran.code == 0, ran.err
    assert "going on with" not in ran.err
    assert sorted(night.state for night in watched.nights) == ["checked_clean", "pending"]


@pytest.mark.parametrize(("runs", "is_damaged"), [(1, False), (3, True)])
def test_a_night_with_other_live_runs_or_a_damaged_leg_is_not_gone_on_with(
    watched: Watched, command: Command, runs: int, is_damaged: bool
) -> None:
    watched.agent.behave(cancel="PS")
    with started("sentinel", "--runs", "3", folder=watched.folder) as process:
        while len(watched.agent.asked) < 6:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (leg,) = (watched.folder / ".evalplatform" / "nights").glob("*.live.*.jsonl")
    if is_damaged:
        first, _, *rest = leg.read_bytes().splitlines(keepends=True)
        leg.write_bytes(b"".join([first, b"garbage\n", *rest]))
    watched.agent.behave()
    ran = command("sentinel", "--runs", runs, "--json")
    assert ran.code == 0, ran.err
    assert "going on with" not in ran.err
    assert {scenario["graded"] for scenario in json.loads(ran.out)["scenarios"]} == {runs}
    assert sorted(night.state for night in watched.nights) == ["checked_clean", "pending"]
    assert leg.exists()  # what was paid for is not thrown away by another night


def test_a_night_that_another_process_is_at_is_left_to_it(watched: Watched, command: Command) -> None:
    watched.agent.behave(cancel="S")
    with started("sentinel", "--runs", "1", folder=watched.folder) as process:
        while not watched.agent.asked:
            time.sleep(0.05)
        watched.agent.behave()
        ran = command("sentinel", "--runs", 1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert ran.code == 0, ran.err
    assert "going on with" not in ran.err
    assert sorted((night.state, night.attempt) for night in watched.nights) == [("checked_clean", 1), ("pending", 1)]


def test_a_recording_that_is_a_pipe_is_refused_and_not_waited_for(watched: Watched, command: Command) -> None:
    recording = watched.folder / "rec" / "cancel.json"
    recording.unlink()
    os.mkfifo(recording)
    refused = command("sentinel")
    assert refused.code == 2
    assert "scenarios.0.recording: the recording 'rec/cancel.json' is no regular file." in refused.err
