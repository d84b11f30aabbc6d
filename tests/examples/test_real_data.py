"""Real data through the converters and back in: every document, task and eval is read as a question set or found as a file."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import Fact
from evalplatform.retrieval.documents import DocumentIndex, document
from evalplatform.retrieval.measures import RetrievedDocuments, document_id, retrieval_measures
from tests.support.requirements import data_folder

CONVERTERS = Path(__file__).parents[2] / "examples" / "converters"
TASKS_RETRIEVED = 20
TOP_K = 5


def converter(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CONVERTERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_retrieval_over_the_bank_is_measured_by_its_required_documents(bank):
    out, _ = bank
    pages = sorted((out / "documents").glob("*.md"))
    index = DocumentIndex([document(page.name, page.read_text(encoding="utf-8")) for page in pages])
    questions = read_question_set(out / "questions.json").questions[:TASKS_RETRIEVED]
    rows = [
        RetrievedDocuments(
            retrieved=tuple(document_id(chunk.source) for chunk in index.search(question.question, top_k=TOP_K)),
            required=frozenset(question.metadata["required_documents"]),
        )
        for question in questions
    ]
    measures = retrieval_measures(rows, k=TOP_K)
    assert (measures.questions, measures.measured) == (TASKS_RETRIEVED, TASKS_RETRIEVED)
    assert TOP_K / len(pages) < measures.mean_recall_rate < 1  # a blind draw of five pages finds 5/698 of what is required
    assert measures.mean_recall_rate <= measures.hit_rate


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
