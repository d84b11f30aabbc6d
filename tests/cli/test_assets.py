"""`assets list` and `assets download`: every file, each checked against its digest."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.starter import edited


@pytest.fixture
def stored(command: Command, project: Path) -> Path:
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    return project


def test_nothing_stored_is_no_and_not_an_error(command: Command, project: Path) -> None:
    ran = command("assets", "list", "--suite", "kettle")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert json.loads(command("assets", "list", "--json").out) == []
    assert command("assets", "download").code == 1


def test_everything_stored_is_listed_with_its_files(command: Command, stored: Path) -> None:
    ran = command("assets", "list")
    assert ran.code == 0
    for asset in ("question_set", "corpus", "arm_answers/reader-", "judged_scores/reader-", "arm_summary/reader-", "arms_report/reader-"):
        assert f"kettle/{asset}" in ran.out
    listed = json.loads(command("assets", "list", "--asset", "arms_report", "--json").out)
    assert set(listed[0]["files"]) == {"arms.json", "report.md", "report.html", "scores.csv"}


@pytest.mark.parametrize("format_", ["json", "md", "html", "csv", "parquet", ".md"])
def test_every_format_can_be_fetched_alone(command: Command, stored: Path, format_: str) -> None:
    ran = command("assets", "download", "--format", format_, "--out", "got")
    assert ran.code == 0
    paths = [Path(line) for line in ran.out.splitlines()]
    assert paths
    assert all(path.is_file() and path.suffix == f".{format_.lstrip('.')}" for path in paths)
    assert json.loads(command("assets", "download", "--format", format_, "--out", "got", "--json").out) == [str(path) for path in paths]


def test_a_download_is_byte_for_byte_what_arms_run_wrote(command: Command, stored: Path) -> None:
    ran = command("assets", "download", "--asset", "arms_report", "--file", "arms.json")
    assert (stored / ran.out.strip()).read_bytes() == (stored / "results/arms/kettle.json").read_bytes()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--suite", "ketle"), "--suite: unknown stored suite 'ketle' (known: kettle). Did you mean 'kettle'?"),
        (("--asset", "arms_reprot"), "Did you mean 'arms_report'?"),
        (("--partition", "reader"), "--partition: unknown stored partition 'reader'"),
        (("--suite", "../x"), "--suite: unknown stored suite '../x'"),
    ],
)
def test_a_name_that_nothing_stored_has_is_answered_with_the_nearest(
    command: Command, stored: Path, flags: tuple[str, str], said: str
) -> None:
    for verb in ("list", "download"):
        ran = command("assets", verb, *flags)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err


def test_a_partition_takes_what_lies_below_it(command: Command, stored: Path) -> None:
    edited(stored / "evalplatform.yaml", ("    judges: [facts]\n", "    judges: [facts]\n    pass_points: 50\n"))
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0

    def paths(*flags: str) -> set[tuple[str, str]]:
        rows = json.loads(command("assets", "list", "--json", *flags).out)
        return {(row["artifact"]["asset"], row["artifact"]["partition"]) for row in rows}

    (policy,) = (partition for asset, partition in paths() if asset == "verdicts")
    judged, cell = policy.rpartition("/")[0], policy.partition("/")[0]
    assert paths("--partition", policy) == {("verdicts", policy)}
    assert {asset for asset, _ in paths("--partition", judged)} == {
        "judged_scores",
        "verdicts",
        "arm_summary",
        "score_moves",
        "arms_report",
    }
    assert paths("--partition", cell) == paths("--partition", judged) | {("arm_answers", cell)}
    assert command("assets", "list", "--partition", judged[:-1]).code == 2


def test_a_file_that_nothing_has_is_no(command: Command, stored: Path) -> None:
    for flags in (("--file", "arms.jsn"), ("--file", "report.md", "--format", "csv")):
        ran = command("assets", "download", *flags)
        assert (ran.code, ran.out) == (1, "")
        assert "no stored file fits" in ran.err


def test_a_format_that_there_is_not_is_answered_with_those_there_are(command: Command, stored: Path) -> None:
    ran = command("assets", "download", "--format", "pdf")
    assert (ran.code, ran.out) == (2, "")
    assert "--format: unknown format 'pdf' (known: csv, html, json, md, parquet)." in ran.err
    names = {name for artifact in json.loads(command("assets", "list", "--json").out) for name in artifact["files"]}
    assert {name.rpartition(".")[2] for name in names} == {"csv", "html", "json", "md", "parquet"}


def test_the_reports_of_each_partition_come_as_one_zip_that_does_not_change(command: Command, stored: Path) -> None:
    ran = command("assets", "download", "--bundle", "--out", "got")
    assert ran.code == 0
    (path,) = (Path(line) for line in ran.out.splitlines())
    assert path.name == "reports.zip"
    assert path.parts[:2] == ("got", "kettle")
    with zipfile.ZipFile(path) as archive:
        assert {"report.html", "report.md", "arms.json", "scores.csv", "README.txt"} <= set(archive.namelist())
        says = archive.read("README.txt").decode()
    (named,) = (line.split() for line in says.splitlines() if line.startswith("  evalplatform "))
    again = command(*named[1:], "--out", "again")  # the command that the bundle itself names
    assert Path(again.out.strip()).read_bytes() == path.read_bytes()


def test_a_bundle_is_whole_or_not_asked_for(command: Command, stored: Path) -> None:
    ran = command("assets", "download", "--bundle", "--format", "md")
    assert (ran.code, ran.out) == (2, "")
    assert "--bundle: takes all reports of a partition" in ran.err


def test_an_older_version_can_be_fetched_and_an_unknown_one_is_named(command: Command, stored: Path) -> None:
    old = json.loads(command("assets", "list", "--asset", "question_set", "--json").out)[0]["data_version"]
    questions = json.loads((stored / "questions.json").read_text())
    questions["questions"][0]["question"] = "And what of tea?"
    (stored / "questions.json").write_text(json.dumps(questions))
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    new = command("assets", "download", "--asset", "question_set", "--out", "new")
    ran = command("assets", "download", "--asset", "question_set", "--version", old, "--out", "old")
    assert ran.code == 0
    assert "And what of tea?" in Path(new.out.strip()).read_text()
    assert "And what of tea?" not in Path(ran.out.strip()).read_text()
    assert "--version: unknown stored version 'zzz'" in command("assets", "download", "--version", "zzz").err


def test_a_tampered_file_is_refused_and_nothing_of_it_written(command: Command, stored: Path) -> None:
    (report,) = (stored / ".evalplatform/store/artifacts").rglob("report.md")
    report.write_bytes(report.read_bytes().replace(b"kettle", b"KETTLE"))
    ran = command("assets", "download", "--asset", "arms_report", "--format", "md", "--out", "got")
    assert (ran.code, ran.out) == (2, "")
    assert "report.md" in ran.err
    assert not (stored / "got").exists()


def test_a_place_that_cannot_be_written_is_named(command: Command, stored: Path) -> None:
    ran = command("assets", "download", "--format", "md", "--out", "questions.json")
    assert ran.code == 2
    assert "cannot be written" in ran.err


def test_outside_a_project_it_says_how_to_get_one(command: Command) -> None:
    assert "evalplatform init DIR" in command("assets", "list").err


def test_what_a_removed_cell_made_is_still_found_and_said_to_be_retired(command: Command, stored: Path) -> None:
    file = stored / "evalplatform.yaml"
    file.write_text(file.read_text().replace("max_tokens: 120", "max_tokens: 121"))
    listed = json.loads(command("assets", "list", "--json").out)
    assert {artifact["artifact"]["asset"] for artifact in listed if not artifact["retired"]} == {"question_set", "corpus"}
    lines = command("assets", "list", "--asset", "arm_answers").out.splitlines()
    assert lines[0].endswith(" UTC  retired")
    ran = command("assets", "download", "--asset", "arms_report", "--format", "md")
    assert ran.code == 0
    assert Path(ran.out.strip()).is_file()
    assert ran.err.startswith("retired: kettle/arms_report/reader-")

    file.write_text(file.read_text().replace("max_tokens: 121", "max_tokens: 120"))
    assert not any(artifact["retired"] for artifact in json.loads(command("assets", "list", "--json").out))
    assert "retired" not in command("assets", "download", "--format", "md").err


@pytest.mark.parametrize(
    ("damaged", "said"),
    [("current/kettle/corpus/*.json", "is no pointer. Remove it"), ("artifacts/kettle/corpus/*/*/manifest.json", "is no manifest")],
)
def test_what_is_damaged_is_named_and_hides_nothing_else(command: Command, stored: Path, damaged: str, said: str) -> None:
    whole = json.loads(command("assets", "list", "--json").out)
    (file,) = (stored / ".evalplatform/store").glob(damaged)
    file.write_bytes(b"garbage")
    for flags in ((), ("--verify",)):
        ran = command("assets", "list", *flags)
        assert ran.code == 2
        assert "kettle/judged_scores/reader-" in ran.out
        assert f"error: {file.relative_to(stored / '.evalplatform/store')}" in ran.err
        assert said in ran.err
        assert "run the suite again: what is still in the ledger is not paid again" in ran.err
        assert "pydantic" not in ran.err
    ran = command("assets", "list", "--json")
    assert ran.code == 2
    assert json.loads(ran.out) == [row for row in whole if row["artifact"]["asset"] != "corpus"]


def test_files_that_are_not_as_they_were_written_are_found_by_reading_all(command: Command, stored: Path) -> None:
    assert command("assets", "list", "--verify").code == 0
    changed, gone = (next((stored / ".evalplatform/store/artifacts/kettle").rglob(name)) for name in ("scores.csv", "answers.parquet"))
    changed.write_bytes(b"tampered" + changed.read_bytes())
    gone.unlink()
    assert command("assets", "list").code == 0  # it reads no file
    ran = command("assets", "list", "--verify", "--json")
    assert ran.code == 1
    assert len(json.loads(ran.out)) == len(json.loads(command("assets", "list", "--json").out))
    assert ran.err.count("error: ") == 2
    assert "scores.csv in file://" in ran.err
    assert "was written as sha256:" in ran.err
    assert "answers.parquet" in ran.err
    assert command("assets", "list", "--verify", "--asset", "judged_scores").code == 0
