"""The converters as a user runs them: a command, files out, and a refusal that names file and line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONVERTERS = Path(__file__).parents[2] / "examples" / "converters"


def run(converter: str, source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CONVERTERS / converter), str(source), str(out)], capture_output=True, text=True, encoding="utf-8", check=False
    )


def write_lines(path: Path, rows: list[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def bank(tmp_path):
    source = tmp_path / "bank"
    source.mkdir()
    write_lines(
        source / "documents.jsonl",
        [
            {"id": "doc_gold_(cards)_001", "title": "Gold Card", "content": "It costs 95 dollars.\u2028A year."},
            {"id": "doc_limits_+_roles_001", "title": "Limits", "content": "Four accounts."},
        ],
    )
    write_lines(
        source / "tasks.jsonl",
        [{"id": "task_1", "instructions": "You want a card.", "required_documents": ["doc_gold_(cards)_001"], "x": 1}],
    )
    return source


def test_banking_documents_become_markdown_files_and_tasks_become_questions(bank, tmp_path):
    done = run("banking.py", bank, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 documents" in done.stdout
    assert "1 question\n" in done.stdout
    document = tmp_path / "out" / "documents" / "doc_gold_(cards)_001.md"
    assert document.read_text(encoding="utf-8") == "# Gold Card\n\nIt costs 95 dollars.\u2028A year.\n"
    assert json.loads((tmp_path / "out" / "questions.json").read_text(encoding="utf-8")) == {
        "schema_version": "questions.v2",
        "questions": [
            {
                "id": "task_1",
                "question": "You want a card.",
                "category": "banking",
                "metadata": {"required_documents": ["doc_gold_(cards)_001"]},
            }
        ],
    }


@pytest.mark.parametrize(
    ("file", "rows", "words"),
    [
        ("documents.jsonl", [{"id": "../up", "title": "t", "content": "c"}], ["documents.jsonl:1", "'../up'", "file name"]),
        ("documents.jsonl", [{"id": "a", "title": "t", "content": "c"}, {"id": "A", "title": "t", "content": "c"}], [":2", "stands twice"]),
        ("documents.jsonl", [{"id": "a", "title": "t", "content": " "}], [":1", "content", "not empty"]),
        ("documents.jsonl", [["a"]], [":1", "JSON object"]),
        ("tasks.jsonl", [{"id": "t", "instructions": "i", "required_documents": ["doc_gone"]}], ["tasks.jsonl:1", "'doc_gone'"]),
        ("tasks.jsonl", [{"id": "t", "instructions": "i"}], ["tasks.jsonl:1", "required_documents", "list"]),
    ],
)
def test_a_banking_line_that_cannot_be_used_is_named_and_nothing_is_written(bank, tmp_path, file, rows, words):
    write_lines(bank / file, rows)
    done = run("banking.py", bank, tmp_path / "out")
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_files_is_not_written_into(bank, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.md").write_text("left over")
    done = run("banking.py", bank, tmp_path / "out")
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["old.md"]


def write_evals(source: Path, skill: str, payload: object) -> None:
    folder = source / skill / "evals"
    folder.mkdir(parents=True)
    (folder / "evals.json").write_text(json.dumps(payload), encoding="utf-8")


def test_skill_evals_become_one_question_set_a_skill_with_expected_and_forbidden_facts(tmp_path):
    case = {"id": "c1", "prompt": "Why does it fail?", "expected_output": "Names the cache.", "checks": {"must_include": ["cache", "flag"]}}
    write_evals(tmp_path / "skills", "build-help", {"skill_name": "build-help", "evals": [case]})
    (tmp_path / "skills" / "no-evals").mkdir()
    done = run("skills_catalog.py", tmp_path / "skills", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["build-help.json"]
    assert json.loads((tmp_path / "out" / "build-help.json").read_text(encoding="utf-8"))["questions"] == [
        {
            "id": "c1",
            "question": "Why does it fail?",
            "category": "build-help",
            "expected_skill": "build-help",
            "expected_facts": ["cache", "flag"],
            "forbidden_facts": [],
            "metadata": {"expected_output": "Names the cache."},
        }
    ]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"skill_name": "other", "evals": []}, ["skill_name", "'build-help'"]),
        ({"skill_name": "build-help"}, ["list `evals`"]),
        ({"skill_name": "build-help", "evals": [{"id": "a", "prompt": "p"}]}, ["evals[0].checks"]),
        ({"skill_name": "build-help", "evals": [{"id": "a", "prompt": "", "checks": {}}]}, ["evals[0].prompt"]),
        (
            {"skill_name": "build-help", "evals": [{"id": "a", "prompt": "p", "checks": {"must_include": [""]}}]},
            ["evals[0].checks.must_include"],
        ),
    ],
)
def test_an_eval_that_cannot_be_used_is_named(tmp_path, payload, words):
    write_evals(tmp_path / "skills", "build-help", payload)
    done = run("skills_catalog.py", tmp_path / "skills", tmp_path / "out")
    assert done.returncode == 2
    for word in [*words, "evals.json"]:
        assert word in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_without_evals_is_refused(tmp_path):
    done = run("skills_catalog.py", tmp_path, tmp_path / "out")
    assert done.returncode == 2
    assert "no <skill>/evals/evals.json" in done.stderr
