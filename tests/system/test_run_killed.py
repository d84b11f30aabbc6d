"""Scenario runs that are killed: what is finished stays, nothing finished is asked again, and a resumed batch is a whole one."""

import json
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle
from tests.support.command_line import Ended, ended, run, started, wait_until

SOAK = os.environ.get("EVALPLATFORM_SOAK") == "1"
TRIALS = 15 if SOAK else 3
SCENARIOS = 30
RUNS = 4
CONCURRENCY = 8

AGENT = """
import json, os, sys, time
asked = json.load(sys.stdin)
def note(what):
    with open("asked.log", "a") as log:
        log.write(json.dumps([what, asked["scenario"], asked["run"]]) + "\\n")
note("began")
time.sleep(0.01)
done = {"role": "assistant", "content": "done " + asked["scenario"]}
print(json.dumps({"messages": [*asked["messages"], done], "cost_usd": 0.01}))
"""


def project(folder: Path) -> Path:
    (folder / "evalplatform.yaml").write_text("version: 1\nproject: shop\nscenarios: scenarios.yaml\n")
    (folder / "agent.py").write_text(AGENT)
    scenarios = [
        {"id": f"s{number:02}", "message": "go", "assertions": [{"final_text_contains": f"done s{number:02}"}]}
        for number in range(SCENARIOS)
    ]
    agent = {"command": {"argv": [sys.executable, "{folder}/agent.py"], "concurrency": CONCURRENCY}}
    (folder / "scenarios.yaml").write_text(json.dumps({"version": 1, "agent": agent, "scenarios": scenarios}))
    return folder


def asked(folder: Path) -> Counter[tuple[str, int]]:
    log = folder / "asked.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter((scenario, order) for _, scenario, order in map(json.loads, lines))


def only_bundle(folder: Path) -> Path:
    (path,) = (folder / ".evalplatform" / "bundles").glob("*.jsonl")
    return path


def finished_lines(folder: Path) -> int:
    bundles = list((folder / ".evalplatform" / "bundles").glob("*.jsonl"))
    return bundles[0].read_bytes().count(b"\n") - 1 if bundles else 0


def went_on(folder: Path) -> Ended:
    return run("run", "--runs", str(RUNS), "--commit", "abc", folder=folder)


@pytest.mark.system
@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_batch_that_is_killed_again_and_again_asks_no_finished_run_twice(tmp_path: Path, trial: int) -> None:
    folder = project(tmp_path)
    chance = random.Random(trial)
    kills = 3
    for _ in range(kills):
        enough = finished_lines(folder) + chance.randrange(5, 25)
        with started("run", "--runs", str(RUNS), "--commit", "abc", folder=folder) as process:
            wait_until(lambda enough=enough: finished_lines(folder) >= enough, "some runs to end")
            process.send_signal(signal.SIGKILL)
            ended(process)
        # A run is finished once its line is in the bundle; what was under way, at most the concurrency, may be asked again.
        finished = {(each.scenario_id, each.order) for each in read_bundle(only_bundle(folder)).runs}
        begun = asked(folder)
        assert len(set(begun) - finished) <= CONCURRENCY
    before = asked(folder)
    done = went_on(folder)
    assert done.code == 0, done.err
    assert "going on with" in done.err
    after = asked(folder)
    assert all(after[key] == before[key] for key in finished), "a finished run was asked again"
    assert sum(after.values()) <= SCENARIOS * RUNS + kills * CONCURRENCY
    bundle = read_bundle(only_bundle(folder))
    assert (bundle.is_finished, bundle.truncated_reason, len(bundle.runs)) == (True, None, SCENARIOS * RUNS)
    assert {each.outcome for each in bundle.runs} == {"passed"}
    assert run("push", str(only_bundle(folder)), folder=folder).code == 0


@pytest.mark.system
def test_ctrl_c_leaves_a_bundle_that_the_same_command_goes_on_with(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with started("run", "--runs", str(RUNS), "--commit", "abc", folder=folder) as process:
        wait_until(lambda: finished_lines(folder) >= 5, "some runs to end")
        process.send_signal(signal.SIGINT)
        stopped = ended(process)
    assert stopped.code == 130, stopped.err
    assert "the same command goes on from there" in stopped.err
    assert "Traceback" not in stopped.err
    refused = run("push", str(only_bundle(folder)), folder=folder)
    assert refused.code == 2
    assert "not finished" in refused.err or "unfinished" in refused.err, refused.err
    assert went_on(folder).code == 0
    assert len(read_bundle(only_bundle(folder)).runs) == SCENARIOS * RUNS


@pytest.mark.system
def test_ctrl_c_without_a_commit_says_what_goes_on_with_the_bundle_and_that_does(tmp_path: Path) -> None:
    folder = project(tmp_path)
    no_commit = {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "GITHUB_SHA": ""}
    with started("run", folder=folder, environment=no_commit) as process:
        wait_until(lambda: finished_lines(folder) >= 5, "some runs to end")
        process.send_signal(signal.SIGINT)
        stopped = ended(process)
    assert stopped.code == 130, stopped.err
    going_on = f"interrupted: what is finished is kept; the same command with `--out {only_bundle(folder)}` goes on with it."
    assert stopped.err.splitlines()[-1] == going_on
    finished = {(each.scenario_id, each.order) for each in read_bundle(only_bundle(folder)).runs}
    before = asked(folder)
    went = run("run", "--out", str(only_bundle(folder)), folder=folder, environment=no_commit)
    assert went.code == 0, went.err
    assert all(asked(folder)[key] == before[key] for key in finished)
    assert read_bundle(only_bundle(folder)).is_whole


@pytest.mark.system
def test_the_same_command_on_a_finished_batch_records_another_one(tmp_path: Path) -> None:
    folder = project(tmp_path)
    assert went_on(folder).code == 0
    assert went_on(folder).code == 0
    assert len(list((folder / ".evalplatform" / "bundles").glob("*.jsonl"))) == 2
    assert set(asked(folder).values()) == {2}
