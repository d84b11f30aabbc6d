"""`labels template`, `labels import` and `judge agreement`, from a stored run to a number with its interval."""

import csv
import getpass
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from evalplatform.adapters.labels.open import open_label_store
from evalplatform.adapters.labels.sql import audit_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction
from evalplatform.kernel.digests import bytes_digest
from evalplatform.ports.labels import Label
from tests.cli.conftest import Command
from tests.support.model_stub import running_stub
from tests.support.starter import edited
from tests.support.stub_project import RUN, write_stub_project

DATABASE = "sqlite:///.evalplatform/evalplatform.db"
Row = dict[str, str]


@pytest.fixture
def stored(command: Command, project: Path) -> Path:
    """The starter project, run once: its judge is a program."""
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    return project


@pytest.fixture
def judged(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of 20 questions, run once: its judge is a model. The server is still there."""
    monkeypatch.setenv("STUB_KEY", "k")
    with running_stub() as stub:
        folder = write_stub_project(tmp_path / "judged", stub.url, questions=20)
        edited(folder / "evalplatform.yaml", ("    draws: 1\n", "    draws: 1\n    pass_points: 50\n"))
        monkeypatch.chdir(folder)
        assert command(*RUN).code == 0
        yield folder


def rows_of(path: str | Path) -> list[Row]:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: str, rows: list[Row]) -> str:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def downloaded_scores(command: Command) -> list[Row]:
    ran = command("assets", "download", "--asset", "arms_report", "--file", "scores.csv")
    assert ran.code == 0
    return rows_of(ran.out.strip())


def stored_labels(project: str = "my-project") -> list[Label]:
    store = open_label_store(DATABASE, project=project)
    try:
        return list(store.labels())
    finally:
        store.close()


def labelled(command: Command, judgement: Callable[[int], Row], *, labeller: str = "ana", answers: int = 40) -> None:
    """Label answers of the suite by the blind template, row by row."""
    Path("blind.csv").unlink(missing_ok=True)
    assert command("labels", "template", "--suite", "kettle", "--out", "blind.csv").code == 0
    rows = [{**row, **judgement(number)} for number, row in enumerate(rows_of("blind.csv")[:answers])]
    assert command("labels", "import", write_rows("done.csv", rows), "--labeller", labeller).code == 0


def test_the_template_shows_each_answer_once_without_arm_cell_or_points(command: Command, stored: Path) -> None:
    ran = command("labels", "template", "--suite", "kettle", "--out", "blind.csv")
    assert ran.code == 0
    rows = rows_of("blind.csv")
    assert ran.out == f"blind.csv: {len(rows)} answers\n"
    assert list(rows[0]) == ["question", "answer", "answer_digest", "label_points", "label_verdict"]
    digests = [row["answer_digest"] for row in rows]
    scores = downloaded_scores(command)
    assert len(digests) == len(set(digests)) < len(scores)
    assert set(digests) == {row["answer_digest"] for row in scores}


def test_a_template_never_takes_the_place_of_a_file_that_is_there(command: Command, stored: Path) -> None:
    template = ("labels", "template", "--suite", "kettle", "--out", "mine.csv")
    assert command(*template).code == 0
    filled_in = Path(write_rows("mine.csv", [{**row, "label_points": "70"} for row in rows_of("mine.csv")])).read_bytes()
    ran = command(*template, "--seed", "1")
    assert ran.code == 2
    assert "mine.csv: --out: is there already, and is not overwritten: name a new file." in ran.err
    assert Path("mine.csv").read_bytes() == filled_in


def test_the_templates_order_depends_on_the_seed_alone(command: Command, stored: Path) -> None:
    files = []
    for number, seed in enumerate((0, 0, 1)):
        out = f"blind-{number}.csv"
        assert command("labels", "template", "--suite", "kettle", "--out", out, "--seed", seed, "--cell", "reader").code == 0
        files.append([row["answer_digest"] for row in rows_of(out)])
    assert files[0] == files[1] != files[2]
    assert sorted(files[0]) == sorted(files[2])


def test_the_reports_scores_file_with_a_column_added_is_imported(command: Command, stored: Path) -> None:
    rows = [{**row, "label_verdict": "passed" if number % 2 else ""} for number, row in enumerate(downloaded_scores(command))]
    expected = {row["answer_digest"] for row in rows if row["label_verdict"]}
    ran = command("labels", "import", write_rows("scores.csv", rows), "--labeller", "ana", "--json")
    assert ran.code == 0
    done = json.loads(ran.out)
    assert (done["added"], done["unknown_answers"], done["labellers"]) == (len(expected), 0, ["ana"])
    assert done["added"] + done["repeated"] + done["unjudged_rows"] == len(rows)
    assert done["already_there"] == 0
    assert {label.subject for label in stored_labels()} == expected
    assert {(label.labeller, label.value) for label in stored_labels()} == {("ana", "passed")}


def test_importing_a_file_again_adds_nothing_and_a_changed_mind_adds_a_label(command: Command, stored: Path) -> None:
    row = {"answer_digest": downloaded_scores(command)[0]["answer_digest"], "label_points": "70"}
    file = write_rows("one.csv", [row])
    assert command("labels", "import", file, "--labeller", "ana").out.startswith("1 label imported, 0 there already")
    assert command("labels", "import", file, "--labeller", "ana").out.startswith("0 labels imported, 1 there already")
    write_rows("one.csv", [{**row, "label_points": "20"}])
    assert command("labels", "import", file, "--labeller", "ana").out.startswith("1 label imported")
    assert [label.value for label in stored_labels()] == [70.0, 20.0]


def test_every_import_is_on_record_with_who_made_it_and_from_which_file(command: Command, stored: Path) -> None:
    rows = [{"answer_digest": row["answer_digest"], "label_points": "70", "labeller": "ben"} for row in downloaded_scores(command)[:1]]
    file = write_rows("one.csv", rows)
    for flags in ((), ("--labeller", "ana"), ("--dry-run",)):
        assert command("labels", "import", file, *flags).code == 0
    engine = database_engine(DATABASE)
    with read_transaction(engine) as connection:
        entries = connection.execute(select(audit_table).order_by(audit_table.c.id)).mappings().all()
    engine.dispose()
    assert [entry["actor"] for entry in entries] == [getpass.getuser(), "ana"]
    assert {entry["subject"] for entry in entries} == {bytes_digest(Path(file).read_bytes())}
    assert [entry["new_value"]["new_labels"] for entry in entries] == [1, 0]


def test_a_dry_run_says_what_would_happen_and_writes_nothing(command: Command, stored: Path) -> None:
    rows = [{"answer_digest": row["answer_digest"], "label_points": "70"} for row in downloaded_scores(command)[:1]]
    ran = command("labels", "import", write_rows("one.csv", rows), "--labeller", "ana", "--dry-run")
    assert (ran.code, ran.out) == (0, "1 label would be imported, 0 there already, 0 rows without a judgement\n")
    assert stored_labels() == []


def test_what_a_file_says_twice_is_not_said_to_be_stored_already(command: Command, stored: Path) -> None:
    digests = [row["answer_digest"] for row in downloaded_scores(command)]
    file = write_rows("dup.csv", [{"answer_digest": digests[0], "label_points": "70"}] * 5)
    ran = command("labels", "import", file, "--labeller", "ana", "--dry-run")
    assert ran.out == "1 label would be imported, 0 there already, 4 repeated in the file, 0 rows without a judgement\n"
    assert command("labels", "import", file, "--labeller", "ana").code == 0
    ran = command("labels", "import", file, "--labeller", "ana")
    assert ran.out == "0 labels imported, 1 there already, 4 repeated in the file, 0 rows without a judgement\n"


def test_one_bad_row_keeps_every_row_out(command: Command, stored: Path) -> None:
    good = downloaded_scores(command)[0]["answer_digest"]
    rows = [{"answer_digest": good, "label_points": points} for points in ("70", "700", "high")]
    ran = command("labels", "import", write_rows("bad.csv", rows), "--labeller", "ana")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: bad.csv: 2 problems, so nothing was imported:\n"
        "  bad.csv:3: label_points: '700' is no number from 0 to 100.\n"
        "  bad.csv:4: label_points: 'high' is no number from 0 to 100.\n"
    )
    assert stored_labels() == []


def test_a_label_that_contradicts_a_stored_one_of_the_same_time_is_refused_with_its_line(command: Command, stored: Path) -> None:
    row = {"answer_digest": downloaded_scores(command)[0]["answer_digest"], "label_points": "70", "labelled_at": "2026-01-02T12:00:00Z"}
    assert command("labels", "import", write_rows("one.csv", [row]), "--labeller", "ana").code == 0
    write_rows("one.csv", [{**row, "label_points": "20"}])
    ran = command("labels", "import", "one.csv", "--labeller", "ana")
    assert ran.code == 2
    assert "error: one.csv:2: 20.0 contradicts 70.0, which 'ana' said at the same time" in ran.err


def test_labels_of_answers_that_are_not_here_are_kept_with_a_warning(command: Command, stored: Path) -> None:
    rows = [{"answer_digest": "sha256:" + digit * 64, "label_points": "70", "labeller": "ben"} for digit in "ab"]
    ran = command("labels", "import", write_rows("else.csv", rows))
    assert ran.code == 0
    assert "warning: 2 labelled answers of this file cannot be found among the stored answers" in ran.err
    assert len(stored_labels()) == 2


def test_a_label_of_an_earlier_answer_is_known(command: Command, stored: Path) -> None:
    before = downloaded_scores(command)
    questions = json.loads(Path("questions.json").read_text())
    questions["questions"][0]["question"] = "And what of tea?"
    Path("questions.json").write_text(json.dumps(questions))
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    earlier = {row["answer_digest"] for row in before} - {row["answer_digest"] for row in downloaded_scores(command)}
    rows = [{"answer_digest": digest, "label_points": "70"} for digest in sorted(earlier)]
    assert rows
    assert json.loads(command("labels", "import", write_rows("old.csv", rows), "--labeller", "ana", "--json").out)["unknown_answers"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("labels", "import", "none.csv"), "error: none.csv: cannot be read: no such file or directory."),
        (("labels", "import", "none.csv", "--labeller", " "), "error: --labeller: must name somebody, on one line."),
        (("labels", "template", "--suite", "ketle", "--out", "x.csv"), "Did you mean 'kettle'?"),
        (("labels", "template", "--suite", "kettle", "--out", "x.csv"), "has no stored answers yet; run it first."),
        (("judge", "agreement"), "no judge's scores are stored; run a suite with a judge first."),
        (("judge", "agreement", "--suite", "ketle"), "Did you mean 'kettle'?"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(command: Command, project: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = command(*arguments)
    assert ran.code == 2
    assert said in ran.err


def test_a_program_as_a_judge_has_no_agreement(command: Command, stored: Path) -> None:
    labelled(command, lambda number: {"label_points": str(number)})
    ran = command("judge", "agreement")
    assert ran.code == 2
    assert "rank correlation: none: no model decided any of these scores" in ran.out
    assert "no agreement can be shown; the reasons stand beside the numbers." in ran.err


def test_agreement_is_withheld_below_thirty_labelled_answers(command: Command, judged: Path) -> None:
    assert "none of these answers is labelled; `evalplatform labels template`" in command("judge", "agreement").err
    labelled(command, lambda number: {"label_points": str(number)}, answers=12)
    ran = command("judge", "agreement")
    assert ran.code == 2
    assert "12 of 40 answers labelled" in ran.out
    assert "rank correlation: withheld: 12 of 30 labelled answers" in ran.out


def test_a_judge_whose_points_people_repeat_agrees_fully_and_verdicts_have_a_kappa(command: Command, judged: Path) -> None:
    points = {row["answer_digest"]: float(row["points"]) for row in downloaded_scores(command)}
    assert command("labels", "template", "--suite", "kettle", "--out", "blind.csv").code == 0
    rows = rows_of("blind.csv")
    for number, row in enumerate(rows):
        row["label_points"] = str(points[row["answer_digest"]])
        passed = (points[row["answer_digest"]] >= 50) is (number % 4 != 0)  # every fourth person disagrees
        row["label_verdict"] = "passed" if passed else "failed"
    assert command("labels", "import", write_rows("done.csv", rows), "--labeller", "ana").code == 0
    (found,) = json.loads(command("judge", "agreement", "--json").out)
    agreement = found["found"]
    assert (found["suite"], found["judge"], found["is_retired"], found["pass_points"]) == ("kettle", "rubric", False, 50.0)
    assert (agreement["answers"], agreement["labelled"], agreement["points"]["pairs"]) == (len(rows),) * 3
    assert agreement["points"]["rank_correlation"]["rho"] == 1.0
    assert agreement["points"]["same_side"]["rate"] == 1.0
    assert agreement["verdicts"]["agreement"]["rate"] == pytest.approx(1 - len(rows[::4]) / len(rows))
    assert agreement["verdicts"]["kappa"]["ci_lo"] < agreement["verdicts"]["kappa"]["kappa"] < agreement["verdicts"]["kappa"]["ci_hi"]
    ran = command("judge", "agreement", "--judge", "rubric", "--cell", "model", "--suite", "kettle")
    assert ran.code == 0
    assert "rank correlation: +1.00 (no interval: the ranks fit without exception)" in ran.out
    assert "same side of 50 points: 100.0% [" in ran.out


def test_a_retired_judge_keeps_its_own_agreement(command: Command, judged: Path) -> None:
    edited(judged / "evalplatform.yaml", ("kind: rubric, model: grader,", "kind: rubric, model: other-grader,"))
    assert command(*RUN).code == 0
    labelled(command, lambda number: {"label_points": str(number)})
    found = json.loads(command("judge", "agreement", "--json").out)
    assert sorted(row["is_retired"] for row in found) == [False, True]
    assert all(row["found"]["points"]["rank_correlation"] is not None for row in found)
    retired = next(row["judge_key"] for row in found if row["is_retired"])
    ran = command("judge", "agreement", "--judge", retired)
    assert ran.code == 0
    assert f"judge {retired}, retired: 40 of 40 answers labelled" in ran.out


def test_a_judge_or_cell_that_scored_nothing_is_answered_with_those_that_did(command: Command, judged: Path) -> None:
    assert "unknown judge with stored scores 'rubrik'" in command("judge", "agreement", "--judge", "rubrik").err
    assert "unknown cell with stored scores 'modle'" in command("judge", "agreement", "--cell", "modle").err
