"""`ledger show`, `ledger export` and `ledger prune`: a ledger as a thing that people handle."""

import asyncio
import json
import sqlite3
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.adapters.ledger.open import open_ledger
from evalplatform.ports.ledger import LedgerRow
from tests.cli.conftest import Command
from tests.support.ledger_rows import a_row

OLD, NEW = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
HIDDEN = "an answer\x1b[2J of\nthree\u202e lines"
ROWS = (
    a_row("q1", text=HIDDEN, cost_usd=0.25, finished_at=OLD),
    a_row("q1", draw=1, text="second sample", cost_usd=0.25, finished_at=OLD, run_id="run-2"),
    a_row("q2", cost_usd=None, price_table=None, prompt_tokens=None, finished_at=OLD),
    a_row("q3", purpose="judge", model="large", cost_usd=1.5, finished_at=NEW),
    a_row("q4", scope="night:n-1", cost_usd=2.0, finished_at=NEW),
)


def record(project: Path, rows: Sequence[LedgerRow]) -> None:
    async def run() -> None:
        name = next(line for line in (project / "evalplatform.yaml").read_text().splitlines() if line.startswith("project:")).split()[1]
        ledger = open_ledger(f"sqlite:///{project}/.evalplatform/evalplatform.db", project=name)
        for row in rows:
            await ledger.record(row.with_changes(project=name))
        await ledger.aclose()

    asyncio.run(run())


@pytest.fixture
def ledger(project: Path) -> Path:
    """A starter project with some calls in its ledger; the working folder."""
    record(project, ROWS)
    return project


def calls_of(command: Command) -> int:
    return int(json.loads(command("ledger", "show", "--json").out)["total"]["calls"])


def test_an_empty_ledger_has_no_calls_and_that_is_a_no(command: Command, project: Path) -> None:
    record(project, ())
    shown = command("ledger", "show")
    assert shown.code == 1
    assert shown.out.splitlines()[-1].split()[:3] == ["total", "0", "—"]
    assert json.loads(command("ledger", "show", "--json").out)["by"]["model"] == {}


def test_calls_are_shown_by_everything_that_they_are_told_apart_by(command: Command, ledger: Path) -> None:
    shown = command("ledger", "show")
    assert shown.code == 0, shown.err
    lines = [line.split() for line in shown.out.splitlines()]
    assert ["total", "5", "$4.0000", "1", "40", "10", "2026-01-02", "2026-03-04"] in lines
    assert ["judge", "1", "$1.5000", "0", "10", "2", "2026-03-04", "2026-03-04"] in lines
    assert ["night:n-1", "1", "$2.0000", "0", "10", "2", "2026-03-04", "2026-03-04"] in lines
    assert ["2026-01-02", "3", "$0.5000", "1", "20", "6", "2026-01-02", "2026-01-02"] in lines
    titles = [line for line in shown.out.splitlines() if line.startswith("by ")]
    assert titles == ["by purpose", "by provider", "by model", "by scope", "by day"]


def test_json_says_what_the_table_says_and_what_is_unknown_is_null(command: Command, ledger: Path) -> None:
    overview = json.loads(command("ledger", "show", "--purpose", "answer", "--since", "2026-03-01", "--json").out)
    assert {dimension: list(named) for dimension, named in overview["by"].items()} == {
        "purpose": ["answer"],
        "provider": ["openai-compatible"],
        "model": ["small"],
        "scope": ["night:n-1"],
        "day": ["2026-03-04"],
    }
    assert overview["total"]["cost_usd"] == 2.0
    record(ledger, [a_row("q5", scope="batch:b-1", cost_usd=None, price_table=None)])
    unpriced = json.loads(command("ledger", "show", "--scope", "batch:b-1", "--json").out)["total"]
    assert (unpriced["calls"], unpriced["cost_usd"], unpriced["unpriced_calls"]) == (1, None, 1)


def test_one_call_is_shown_in_full_by_the_start_of_its_digest_and_obeys_no_control_character(command: Command, ledger: Path) -> None:
    digest = ROWS[0].key.request_digest
    hexadecimal = digest.removeprefix("sha256:")
    for name in (digest, hexadecimal, hexadecimal[:8], hexadecimal[:12].upper()):
        shown = command("ledger", "show", name)
        assert shown.code == 0, shown.err
        assert f"request:       {digest}" in shown.out
        assert "an answer⟨U+001B⟩[2J of\nthree⟨U+202E⟩ lines" in shown.out
        assert "second sample" in shown.out
        assert "$0.250000 by price table 2026-01" in shown.out
    rows = json.loads(command("ledger", "show", hexadecimal[:8], "--json").out)
    assert [row["key"]["draw"] for row in rows] == [0, 1]
    assert rows[0]["reply"]["text"] == HIDDEN


def test_a_digest_that_fits_nothing_or_too_much_or_is_none_says_so(command: Command, ledger: Path) -> None:
    nothing = command("ledger", "show", "0" * 64)
    assert (nothing.code, nothing.out) == (1, "")
    assert "no call of the ledger" in nothing.err
    for wrong in ("abc", "no-digest-at-all", "%" * 8):
        refused = command("ledger", "show", wrong)
        assert refused.code == 2
        assert "first 8 hex digits" in refused.err
    twins = [ROWS[0], ROWS[0].with_changes(key=ROWS[0].key.model_copy(update={"request_digest": ROWS[0].key.request_digest[:-1] + "x"}))]
    record(ledger, twins)
    many = command("ledger", "show", ROWS[0].key.request_digest[:20])
    assert many.code == 2
    assert "begins 2 digests: sha256:" in many.err


@pytest.mark.parametrize("name", ["calls.jsonl", "kept/calls.jsonl.zst"])
def test_an_export_holds_every_row_as_it_is(command: Command, ledger: Path, name: str) -> None:
    (ledger / "kept").mkdir()
    exported = command("ledger", "export", "--out", name)
    assert (exported.code, exported.out) == (0, f"{name}: 5 calls\n")
    assert [row.with_changes(project="demo") for row in exported_rows(ledger / name)] == list(ROWS)
    assert [path.name for path in (ledger / name).parent.iterdir() if path.name.endswith(".tmp")] == []


def exported_rows(file: Path) -> list[LedgerRow]:
    """The rows of a file, read by another program than the one that wrote it."""
    data = subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout if file.suffix == ".zst" else file.read_bytes()
    return [LedgerRow.model_validate_json(line) for line in data.splitlines()]


def test_an_export_can_be_narrowed_and_an_empty_one_is_a_no(command: Command, ledger: Path) -> None:
    flags = ("--scope", "shared", "--purpose", "judge", "--since", "2026-03-04T06:06:00+01:00", "--json")
    exported = command("ledger", "export", "--out", "some.jsonl", *flags)
    assert json.loads(exported.out) == {"file": "some.jsonl", "calls": 1}
    assert command("ledger", "export", "--out", "none.jsonl", "--since", "2026-03-05").code == 1


def test_texts_of_any_kind_survive_an_export(command: Command, project: Path, awkward_texts: list[str]) -> None:
    record(project, [a_row(f"q{number}", text=text) for number, text in enumerate(awkward_texts)])
    assert command("ledger", "export", "--out", "calls.jsonl.zst").code == 0
    assert [row.reply.text for row in exported_rows(project / "calls.jsonl.zst")] == awkward_texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "--out", "calls.csv"), "calls.csv: --out: has to end with .jsonl or .jsonl.zst."),
        (("export", "--out", "there.jsonl"), "there.jsonl: --out: is there already"),
        (("export", "--out", "file/calls.jsonl"), "the folder file is not there"),
        (("export", "--out", "c.jsonl", "--since", "yesterday"), "--since: 'yesterday' is no date"),
        (("prune", "--before", "2026-02-01"), "one of them"),
        (("prune", "--before", "2026-02-01", "--no-export", "--export", "c.jsonl"), "one of them"),
        (("prune", "--before", "2026-02-01", "--export", "there.jsonl", "--yes"), "there.jsonl: --export: is there already"),
        (("prune", "--before", "3026-02-01", "--no-export", "--yes"), "--before: 3026-02-01 is still to come"),
    ],
)
def test_what_would_lose_or_overwrite_calls_is_refused(command: Command, ledger: Path, arguments: tuple[str, ...], said: str) -> None:
    (ledger / "there.jsonl").write_text("the only copy")
    (ledger / "file").write_text("in the way")
    refused = command("ledger", *arguments)
    assert refused.code == 2
    assert said in refused.err
    assert (ledger / "there.jsonl").read_text() == "the only copy"
    assert calls_of(command) == 5


def test_pruning_says_first_what_it_would_delete_and_deletes_nothing(command: Command, ledger: Path) -> None:
    shown = command("ledger", "prune", "--before", "2026-02-01", "--export", "old.jsonl.zst")
    assert shown.code == 1
    assert shown.out.splitlines() == [
        "would delete 3 calls that cost $0.5000 (1 of unknown price)",
        "0 calls of them answered what is stored now; scores do not name their calls",
        "what is stored stays as it is; a rerun that needs one of these calls asks, and pays for, it again",
        "they would be kept in old.jsonl.zst",
        "nothing was deleted: add --yes to do it",
    ]
    assert not (ledger / "old.jsonl.zst").exists()
    assert calls_of(command) == 5


def test_pruned_calls_are_in_the_file_and_the_others_in_the_ledger(command: Command, ledger: Path) -> None:
    pruned = command("ledger", "prune", "--before", "2026-02-01", "--export", "old.jsonl.zst", "--yes")
    assert pruned.code == 0, pruned.err
    assert pruned.out.splitlines()[0] == "deleted 3 calls"
    assert [row.with_changes(project="demo") for row in exported_rows(ledger / "old.jsonl.zst")] == list(ROWS[:3])
    assert calls_of(command) == 2
    again = command("ledger", "prune", "--before", "2026-02-01", "--no-export", "--yes")
    assert (again.code, again.out) == (0, "nothing to delete: no call is as old as that\n")


def test_pruning_can_be_narrowed_and_done_without_a_file(command: Command, ledger: Path) -> None:
    flags = ("--before", "2026-05-01", "--scope", "shared", "--purpose", "answer", "--no-export", "--yes", "--json")
    pruned = json.loads(command("ledger", "prune", *flags).out)
    assert (pruned["calls"], pruned["deleted"], pruned["export"]) == (3, 3, None)
    assert calls_of(command) == 2


def test_calls_that_stored_answers_came_from_are_counted_and_a_rerun_after_pruning_changes_nothing(command: Command, project: Path) -> None:
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    before = calls_of(command)
    flags = ("--before", datetime.now(UTC).isoformat(), "--no-export", "--json")
    would = json.loads(command("ledger", "prune", *flags).out)
    assert 0 < would["behind_current_answers"] <= would["calls"] == before
    assert json.loads(command("ledger", "prune", *flags, "--yes").out)["deleted"] == before
    again = command("arms", "run", "--suite", "kettle", "--judge", "--json")
    assert json.loads(again.out)["unchanged"] is True
    more = command("arms", "run", "--suite", "kettle", "--judge", "--draws", "2", "--json")
    assert json.loads(more.out)["calls"]["paid"] > 0


def test_an_export_that_cannot_be_finished_leaves_no_file_and_deletes_nothing(command: Command, ledger: Path) -> None:
    with sqlite3.connect(ledger / ".evalplatform" / "evalplatform.db") as connection:
        connection.execute("UPDATE calls SET reply = x'00' WHERE id = 3")
    connection.close()
    failed = command("ledger", "prune", "--before", "2026-02-01", "--export", "old.jsonl", "--yes")
    assert failed.code == 2
    assert f"the ledger's row of {ROWS[2].key.request_digest} is damaged" in failed.err
    assert list(ledger.glob("*old.jsonl*")) == []
    assert calls_of(command) == 5


def test_a_folder_that_is_not_there_is_not_made_for_an_export(command: Command, ledger: Path) -> None:
    for flags in (("export", "--out"), ("prune", "--before", "2026-02-01", "--yes", "--export")):
        ran = command("ledger", *flags, "nope/calls.jsonl.zst")
        assert (ran.code, ran.out) == (2, "")
        assert f"{flags[-1]}: the folder nope is not there" in ran.err
    assert not (ledger / "nope").exists()
    assert calls_of(command) == 5


@pytest.mark.parametrize(
    "verb", [("show",), ("export", "--out", "calls.jsonl"), ("prune", "--before", "2026-01-01", "--no-export", "--yes")]
)
def test_a_ledger_that_is_not_there_is_said_and_not_made(command: Command, project: Path, verb: tuple[str, ...]) -> None:
    ran = command("ledger", *verb)
    assert (ran.code, ran.out) == (2, "")
    assert "evalplatform.db: database: is not there: no run has made it yet, or `database` names another file" in ran.err
    assert not list(project.rglob("evalplatform.db"))
