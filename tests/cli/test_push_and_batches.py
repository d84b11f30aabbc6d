"""`push`, `batches list` and `batches show`: from a bundle to what is stored."""

import getpass
import json
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from evalplatform.adapters.batches.sql import audit_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction
from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.records import PlannedScenario
from tests.cli.conftest import Command
from tests.support.bundle_files import write_bundle
from tests.support.recorded_batches import NOW

DATABASE = "sqlite:///.evalplatform/evalplatform.db"


@pytest.fixture
def bundle(project: Path) -> Path:
    declared = {
        "refund": PlannedScenario(tier="critical", tolerance="any_order", planned_runs=4),
        "cancel": PlannedScenario(planned_runs=2),
        "waits": PlannedScenario(planned_runs=3),
    }
    return write_bundle(
        Path("b.jsonl"), {"refund": "PFBH", "cancel": "PU"}, project="my-project", declared=declared, branch="main", ci_event="push"
    )


def pushed(command: Command, bundle: Path) -> str:
    ran = command("push", bundle, "--json")
    assert ran.code == 0, ran.err
    return str(json.loads(ran.out)["batch"]["id"])


def test_looking_for_batches_before_there_is_a_database_makes_none_and_says_that_there_is_no_batch(command: Command, project: Path) -> None:
    for _ in range(2):
        listed, shown = command("batches", "list", "--json"), command("batches", "show", "b-1")
        assert (listed.code, json.loads(listed.out), shown.code) == (1, [], 2)
        for said in (listed.err, shown.err):
            assert "no batch is stored; `evalplatform push BUNDLE` stores one." in said
            assert "What is finished is kept" not in said
        assert not Path(".evalplatform/evalplatform.db").exists()
        shutil.rmtree(".evalplatform", ignore_errors=True)
        Path(".evalplatform").write_text("no folder can be made here")


def test_two_tenants_with_one_database_and_one_project_id_see_nothing_of_each_other(command: Command, bundle: Path) -> None:
    theirs = pushed(command, bundle)
    settings = Path("evalplatform.yaml")
    settings.write_text(settings.read_text() + "\ntenant: t-b\n")
    listed = command("batches", "list")
    assert (listed.code, listed.out) == (1, "")
    ours = write_bundle(Path("ours.jsonl"), {"refund": "P"}, project="my-project", tenant="t-b")
    batch_id = pushed(command, ours)
    assert [line.split()[0] for line in command("batches", "list").out.splitlines()[1:]] == [batch_id]
    shown = command("batches", "show", theirs)
    assert (shown.code, shown.out) == (2, "")
    assert f"unknown batch '{theirs}'" in shown.err
    assert "default" not in shown.err


def test_a_broken_store_promises_a_read_nothing_to_go_on_with(command: Command, bundle: Path) -> None:
    pushed(command, bundle)
    Path(".evalplatform/evalplatform.db").unlink()
    Path(".evalplatform/evalplatform.db").mkdir()
    refused = command("push", bundle)
    assert (refused.code, "What is finished is kept" in refused.err) == (2, True)
    unread = command("diff", "b-1", "b-2")
    assert (unread.code, "What is finished is kept" in unread.err) == (2, False)


def test_a_pushed_bundle_is_listed_and_shown_with_its_run_counts(command: Command, bundle: Path) -> None:
    ran = command("push", bundle)
    assert ran.code == 0
    batch_id = ran.out.split(":")[0]
    assert ran.out == f"{batch_id}: stored; 6 runs, 2 passed of 4 graded\n"
    listed = command("batches", "list")
    assert listed.code == 0
    titles, row = listed.out.splitlines()
    assert titles.split("  ")[0] == "Batch"
    assert row.split() == [batch_id, "c0ffee1", "main", "2026-11-30", "12:00", "6", "2/4", "complete"]
    shown = command("batches", "show", batch_id).out
    assert "  CI event     push\n" in shown
    assert "  runs         6: 2 passed of 4 graded\n" in shown
    assert "  violations   4 of 4 runs with steps scanned\n" in shown
    rows = [" ".join(line.split()) for line in shown.splitlines()[-3:]]
    assert rows == [
        "cancel 1/1 (1 missing) 2 standard not declared 0",
        "refund 1/3 (1 could not run) 4 critical any order 0",
        "waits 0/0 (3 missing) 3 standard not declared —",
    ]


def test_pushing_again_says_that_it_is_there_already(command: Command, bundle: Path) -> None:
    batch_id = pushed(command, bundle)
    again = command("push", bundle)
    assert again.code == 0
    assert again.out == f"{batch_id}: there already, nothing changed; 6 runs, 2 passed of 4 graded\n"
    assert json.loads(command("push", bundle, "--json").out)["already_there"] is True
    engine = database_engine(DATABASE)
    with read_transaction(engine) as connection:
        entries = connection.execute(select(audit_table.c.actor, audit_table.c.action, audit_table.c.subject)).all()
    engine.dispose()
    assert [tuple(entry) for entry in entries] == [(getpass.getuser(), "batches.push", batch_id)]


def test_the_link_is_printed_where_the_deployment_says_where_the_web_app_is(
    command: Command, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "http" not in command("push", bundle).out
    assert json.loads(command("push", bundle, "--json").out)["link"] is None
    monkeypatch.setenv("EVALPLATFORM_WEB_URL", "https://evaluations.example.com/")
    said, link = command("push", bundle).out.splitlines()
    assert link == f"https://evaluations.example.com/projects/my-project#batch-{said.split(':')[0]}"


def test_batches_are_listed_newest_first_and_what_is_truncated_says_so(command: Command, bundle: Path) -> None:
    middle = pushed(command, bundle)
    day = {"project": "my-project", "commit": None}
    newest = pushed(command, write_bundle(Path("n.jsonl"), {"a": "P"}, days_ago=-1, truncated_reason="the spend cap was reached", **day))
    oldest = pushed(command, write_bundle(Path("o.jsonl"), {"a": "F"}, days_ago=3, **day))
    listed = command("batches", "list", "--json")
    assert [batch["id"] for batch in json.loads(listed.out)] == [newest, middle, oldest]
    assert "—" in command("batches", "list").out.splitlines()[1]
    assert command("batches", "list").out.splitlines()[1].endswith("truncated")
    assert "truncated: the spend cap was reached" in command("batches", "show", newest).out
    few = command("batches", "list", "--limit", 2)
    assert len(few.out.splitlines()) == 3
    assert "--limit shows more than 2" in few.err
    assert (NOW - timedelta(days=3)).strftime("%Y-%m-%d %H:%M") in command("batches", "list").out


def test_a_batch_that_was_gone_on_with_is_listed_with_the_one_that_stands_for_it_also_beyond_the_limit(
    command: Command, project: Path
) -> None:
    for commit in map(str, range(99)):  # the store orders batches of one time by id, and the stopped one is to come first
        stopped_file = write_bundle(Path(f"t{commit}"), {"order": "PU"}, project="my-project", commit=commit, truncated_reason="a cap")
        whole_file = write_bundle(Path(f"w{commit}"), {"order": "PF"}, project="my-project", commit=commit)
        if read_bundle(stopped_file).batch.id > read_bundle(whole_file).batch.id:
            break
    stopped, whole = pushed(command, stopped_file), pushed(command, whole_file)
    rows = {line.split()[0]: line for line in command("batches", "list").out.splitlines()[1:]}
    assert rows[stopped].endswith(f"  continued as {whole}, truncated")
    assert rows[whole].endswith("  complete")
    listed = json.loads(command("batches", "list", "--json").out)
    assert {one["id"]: one["continued_as"] for one in listed} == {stopped: whole, whole: None}
    (newest,) = json.loads(command("batches", "list", "--limit", 1, "--json").out)
    assert (newest["id"], newest["continued_as"]) == (stopped, whole)


def test_json_of_a_batch_holds_its_header_coverage_and_scenarios(command: Command, bundle: Path) -> None:
    batch_id = pushed(command, bundle)
    shown = json.loads(command("batches", "show", batch_id, "--json").out)
    assert (shown["header"]["branch"], shown["coverage"]) == ("main", {"scanned_runs": 4, "runs": 4})
    refund = next(scenario for scenario in shown["scenarios"] if scenario["scenario_id"] == "refund")
    assert refund["runs"]["passes"] == {"passed": 1, "graded": 3}
    assert refund["planned"]["tolerance"] == "any_order"
    (listed,) = json.loads(command("batches", "list", "--json").out)
    assert (listed["scenario_count"], "scenarios" in listed["header"]) == (3, False)


def test_without_a_batch_the_list_ends_with_1_and_says_how_to_get_one(command: Command, project: Path) -> None:
    listed = command("batches", "list")
    assert (listed.code, listed.out) == (1, "")
    assert "evalplatform push BUNDLE" in listed.err
    empty = command("batches", "list", "--json")
    assert (empty.code, json.loads(empty.out)) == (1, [])


def test_an_unknown_batch_ends_with_2_and_the_nearest_id(command: Command, bundle: Path) -> None:
    batch_id = pushed(command, bundle)
    ran = command("batches", "show", f"{batch_id[:-2]}zz")
    assert ran.code == 2
    assert f"Did you mean '{batch_id}'?" in ran.err


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("open.jsonl", {"finished": False, "project": "my-project"}, "is not finished"),
        ("shop.jsonl", {"project": "shop"}, "was recorded for the project 'shop', and this is 'my-project'"),
    ],
)
def test_a_bundle_that_cannot_be_pushed_ends_with_2(
    command: Command, project: Path, name: str, options: dict[str, object], message: str
) -> None:
    ran = command("push", write_bundle(Path(name), {"a": "P"}, **options))
    assert (ran.code, ran.out) == (2, "")
    assert name in ran.err
    assert message in ran.err
    assert command("push", "missing.jsonl").code == 2


def test_push_without_a_bundle_takes_the_newest_finished_one(command: Command, project: Path) -> None:
    folder = project / ".evalplatform" / "bundles"
    assert "holds no bundle to push" in command("push").err
    for number, name in enumerate(("z-first", "a-second")):
        path = write_bundle(folder / f"{name}.jsonl", {"refund": "P" * (number + 1)}, project="my-project")
        os.utime(path, (number + 1, number + 1))
    ran = command("push")
    assert ran.code == 0, ran.err
    assert "2 runs, 2 passed of 2 graded" in ran.out
    unfinished = folder / "m-third.jsonl"
    unfinished.write_bytes(b"".join((folder / "a-second.jsonl").read_bytes().splitlines(keepends=True)[:-1]))
    refused = command("push")
    assert refused.code == 2
    assert "m-third.jsonl: is the newest bundle, and unfinished" in refused.err


def test_a_batch_is_shown_by_the_end_of_its_id(command: Command, bundle: Path) -> None:
    batch_id = pushed(command, bundle)
    assert command("batches", "show", batch_id[-8:]).out == command("batches", "show", batch_id).out


def test_a_trace_that_is_pushed_is_answered_with_what_imports_it(command: Command, project: Path) -> None:
    (project / "trace.jsonl").write_text('{"messages": []}\n')
    ran = command("push", project / "trace.jsonl")
    assert ran.code == 2
    assert "trace.jsonl:1: is no bundle: `evalplatform run` and `evalplatform import` write bundles" in ran.err
