"""`plan` asks nothing, `init` overwrites nothing, and what is wrong is found by both."""

import json
import os
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.starter import edited, starter

CLOSED_PORT = 9  # discard: nothing listens there
HERE = "  here: {provider: offline}"


def test_a_plan_asks_no_model_and_says_what_a_run_would_ask(command: Command, project: Path) -> None:
    """The endpoint is a closed port with a single attempt: any call would fail and be seen."""
    there = f'  there: {{provider: openai-compatible, base_url: "http://127.0.0.1:{CLOSED_PORT}/v1", retry: {{attempts: 1}}}}'
    edited(project / "evalplatform.yaml", (HERE, f"{HERE}\n{there}"), ("endpoint: here, sampling", "endpoint: there, sampling"))
    ran = command("plan")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].startswith("suite kettle: 8 questions, 5 arms (baseline, docs, skill:use-kettle")
    assert "answers reader: 36 calls, 0 finished, 36 to ask" in ran.out
    assert ran.out.splitlines()[-1] == "  total: unknown price"
    assert command("arms", "run", "--suite", "kettle").code == 2  # the same project does ask, and fails


def test_a_plan_knows_what_is_finished_and_what_it_costs(command: Command, project: Path) -> None:
    prices = "{provider: offline, prices: {input_per_million_usd: 1000, output_per_million_usd: 0}}"
    edited(project / "evalplatform.yaml", (HERE, f"  here: {prices}"))
    planned = json.loads(command("plan", "--json").out)[0]
    answers = planned["answers"][0]
    assert answers["price_usd"] == pytest.approx(answers["prompt_tokens"] / 1000)
    assert command("arms", "run", "--suite", "kettle").code == 0
    answers = json.loads(command("plan", "--json").out)[0]["answers"][0]
    assert (answers["finished"], answers["calls"], answers["price_usd"]) == (36, 36, 0)


def test_a_plan_says_beside_the_total_what_the_spend_cap_lets_each_run_pay(command: Command, project: Path) -> None:
    prices = "{provider: offline, prices: {input_per_million_usd: 1000, output_per_million_usd: 0}}"
    edited(project / "evalplatform.yaml", (HERE, f"  here: {prices}"))
    assert "spend cap" not in command("plan").out
    file = project / "evalplatform.yaml"
    file.write_text(f"{file.read_text()}\nbudgets: {{kettle: {{max_cost_usd: 2.5}}}}\n")
    total, cap = command("plan").out.splitlines()[-2:]
    (planned,) = json.loads(command("plan", "--json").out)
    asking = [calls for calls in (*planned["answers"], *planned["judgements"]) if calls["calls"]]
    assert total == f"  total: ${planned['price_usd']:,.4f}"
    assert planned["spend_cap"] == {"max_cost_usd_per_run": 2.5, "runs": len(asking)}
    together = f"{len(asking)} such run{'s' if len(asking) > 1 else ''}, at most ${2.5 * len(asking):.2f} together"
    assert cap == f"  spend cap: $2.5 a run of a cell's answers, or of its scores under a judge; {together}"


def test_a_plan_with_a_cap_and_without_a_price_says_that_nothing_would_be_asked(command: Command, project: Path) -> None:
    there = f'  there: {{provider: openai-compatible, base_url: "http://127.0.0.1:{CLOSED_PORT}/v1"}}'
    edited(project / "evalplatform.yaml", (HERE, f"{HERE}\n{there}"), ("endpoint: here, sampling", "endpoint: there, sampling"))
    file = project / "evalplatform.yaml"
    file.write_text(f"{file.read_text()}\nbudgets: {{kettle: {{max_cost_usd: 2.5}}}}\n")
    assert command("plan").out.splitlines()[-1].strip().startswith("warning: a call of unknown price is not asked under a cap")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("questions: questions.json", "questions: nowhere.json"), "nowhere.json: cannot be read"),
        (("skill:skills/use-kettle\n      - docs", "skill:skills/nowhere\n      - docs"), "nowhere"),
        (("baseline_arm: baseline", "baseline_arm: base"), "suites.kettle.baseline_arm: unknown arm 'base'"),
        (("baseline_arm: baseline", "cluster_field: topic"), "suites.kettle.cluster_field: the question 'install' of"),
        ((HERE, "  here: {provider: offlin}"), "endpoints.here.provider: unknown model provider 'offlin'"),
        ((HERE, "  here: {provider: openai}"), "endpoints.here.key_env: the environment variable OPENAI_API_KEY is not set"),
        (
            (HERE, "  here: {provider: openai-compatible}"),
            "endpoints.here.base_url: the provider 'openai-compatible' needs the server's address",
        ),
        (
            (HERE, "  here: {provider: openai-compatible, base_url: nowhere}"),
            "endpoints.here.base_url: must be an http:// or https:// address",
        ),
    ],
)
def test_a_plan_finds_what_a_run_would_stumble_over(command: Command, project: Path, change: tuple[str, str], said: str) -> None:
    no_judge = (
        () if change[0] != HERE else (("judges: [facts]", "judges: []"), ("facts: {kind: overlap, model: overlap, endpoint: here}", "{}"))
    )
    edited(project / "evalplatform.yaml", change, *no_judge)
    ran = command("plan")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_plan_of_one_suite_of_none_and_of_no_project(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("plan", "--suite", "kettle").code == 0
    assert "Did you mean 'kettle'?" in command("plan", "--suite", "ketle").err
    (project / "evalplatform.yaml").write_text("version: 1\nproject: empty\n")
    ran = command("plan")
    assert (ran.code, "suites: the project has no suite" in ran.err) == (2, True)
    monkeypatch.chdir(tmp_path)
    ran = command("plan")
    assert ran.code == 2
    assert "no evalplatform.yaml here or in any folder above; `evalplatform init DIR` starts a project" in ran.err


def test_init_writes_a_project_that_runs_and_says_what_next(command: Command, tmp_path: Path) -> None:
    ran = command("init", "new folder/here")
    assert ran.code == 0
    assert "new folder/here/evalplatform.yaml" in ran.out.splitlines()
    assert "next: cd 'new folder/here' && evalplatform plan" in ran.err
    assert (tmp_path / "new folder/here/.gitignore").read_text().startswith("#") or (tmp_path / "new folder/here/.gitignore").is_file()
    assert command("plan", "--project", "new folder/here").code == 0


def test_init_keeps_what_is_there_and_refuses_to_overwrite(command: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert command("init", ".").code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    (tmp_path / "evalplatform.yaml").write_text("mine too")
    (tmp_path / "questions.json").unlink()
    ran = command("init", ".")
    assert (ran.code, ran.out) == (2, "")
    assert "is there already; choose an empty folder, nothing was written." in ran.err
    assert (tmp_path / "evalplatform.yaml").read_text() == "mine too"
    assert not (tmp_path / "questions.json").exists()


def test_init_in_a_file_or_an_impossible_place_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/below", "/proc/nowhere", "x" * 300):
        ran = command("init", place)
        assert (ran.code, ran.out) == (2, "")
        assert "no project can stand here" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_said_to_be_one(command: Command, project: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert "permission denied" in command("arms", "run", "--suite", "kettle", "--out-json", locked / "x.json").err
    assert "no project can stand here" in command("init", locked / "x").err


def test_a_state_folder_that_cannot_be_made_is_named(command: Command, project: Path) -> None:
    (project / ".evalplatform").write_text("in the way")
    with socket.socket() as probe, socket.socket() as other:
        for free in (probe, other):
            free.bind(("127.0.0.1", 0))
        ports = ("--port", probe.getsockname()[1], "--web-port", other.getsockname()[1])
    for arguments in (("plan",), ("dev", *ports)):
        ran = command(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert str(project / ".evalplatform") in ran.err
        assert "unforeseen" not in ran.err


def test_a_database_file_that_is_none_is_named(command: Command, project: Path) -> None:
    file = project / ".evalplatform/evalplatform.db"
    file.parent.mkdir()
    file.write_bytes(b"no database at all, only words " * 200)
    ran = command("plan")
    assert (ran.code, ran.out) == (2, "")
    assert f"{file} refused: file is not a database" in ran.err


def test_demo_in_a_file_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "is no folder" in command("demo", "file").err


def test_the_project_is_found_upward_or_by_the_variable(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter(tmp_path / "other")
    monkeypatch.chdir(project / "docs")
    assert command("assets", "list").code == 1
    monkeypatch.setenv("EVALPLATFORM_PROJECT", str(tmp_path / "nowhere"))
    assert "EVALPLATFORM_PROJECT names" in command("plan").err
    monkeypatch.setenv("EVALPLATFORM_PROJECT", str(tmp_path / "other"))
    assert command("arms", "run", "--suite", "kettle").code == 0
    assert (tmp_path / "other/.evalplatform").is_dir()
    assert not (project / ".evalplatform").exists()


def test_storage_and_database_of_the_environment_are_used(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALPLATFORM_STORAGE", str(tmp_path / "store"))
    monkeypatch.setenv("EVALPLATFORM_DATABASE", f"sqlite:///{tmp_path / 'calls.db'}")
    assert command("arms", "run", "--suite", "kettle").code == 0
    assert (tmp_path / "calls.db").is_file()
    assert (tmp_path / "store").is_dir()
    assert not (project / ".evalplatform").exists()
