"""Real data through the converters and back in: every document, task and eval is read as a question set or found as a file."""

import json

import pytest

from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import Fact
from tests.support.converters import converter
from tests.support.requirements import data_folder


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    out = tmp_path_factory.mktemp("bank") / "out"
    counts = converter("banking").convert(data_folder("banking"), out)
    return out, counts


def test_every_banking_task_reads_back_as_a_question_with_its_required_documents(bank):
    out, counts = bank
    tasks = [json.loads(line) for line in (data_folder("banking") / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    question_set = read_question_set(out / "questions.json")
    assert question_set.warnings == ()
    assert counts == (698, 97)
    assert [question.id for question in question_set.questions] == [task["id"] for task in tasks]
    assert [question.question for question in question_set.questions] == [task["instructions"] for task in tasks]
    for question, task in zip(question_set.questions, tasks, strict=True):
        assert question.metadata["required_documents"] == task["required_documents"]
        assert all((out / "documents" / f"{required}.md").is_file() for required in task["required_documents"])


def test_every_banking_document_keeps_its_title_and_text(bank):
    out, _ = bank
    rows = [json.loads(line) for line in (data_folder("banking") / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(list((out / "documents").iterdir())) == len(rows)
    for row in rows:
        assert (out / "documents" / f"{row['id']}.md").read_text(encoding="utf-8") == f"# {row['title']}\n\n{row['content']}\n"


def test_every_skill_eval_reads_back_with_its_checks_as_facts(tmp_path):
    source = data_folder("skills") / "skills"
    counts = converter("skills_catalog").convert(source, tmp_path / "out")
    assert counts == {folder.name: counts[folder.name] for folder in sorted(source.iterdir()) if (folder / "evals").is_dir()}
    for skill, count in counts.items():
        evals = json.loads((source / skill / "evals" / "evals.json").read_text(encoding="utf-8"))["evals"]
        question_set = read_question_set(tmp_path / "out" / f"{skill}.json")
        assert question_set.warnings == ()
        assert len(question_set.questions) == count == len(evals)
        for question, case in zip(question_set.questions, evals, strict=True):
            assert (question.id, question.question, question.expected_skill) == (case["id"], case["prompt"], skill)
            assert question.expected_facts == tuple(Fact(any_of=(text,)) for text in case["checks"]["must_include"])
            assert question.forbidden_facts == tuple(Fact(any_of=(text,)) for text in case["checks"]["must_not_include"])
