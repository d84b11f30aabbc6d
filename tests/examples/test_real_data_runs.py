"""The whole job over small parts of real data, by the command line: what it writes is computed again here, from the data alone."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evalplatform.cli.main import exit_code
from tests.support.converters import converter
from tests.support.requirements import data_folder

OFFLINE = ("--provider", "offline", "--model", "extractive")
JUDGED = ("--judge", "--judge-provider", "offline", "--judge-model", "overlap")
TASKS, OTHER_DOCUMENTS, TOP_K, KEPT = 10, 40, 5, 3
SKILLS = ("uxl-onemath", "uxl-oneccl")
DIGEST = re.compile("sha256:[0-9a-f]{64}")

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def arms_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return `arms run --json` in an empty folder: what it prints, once it ended well."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> dict[str, Any]:
        code = exit_code(["arms", "run", "--json", *arguments])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out)

    return run


@dataclass(frozen=True)
class Bank:
    """A part of the bank: its tasks, the text of its documents by file name, and where the converter wrote them."""

    tasks: list[dict[str, Any]]
    documents: dict[str, str]
    out: Path


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    folder = data_folder("banking")
    tasks = json_lines(folder / "tasks.jsonl")[:TASKS]
    required = {document for task in tasks for document in task["required_documents"]}
    rows = json_lines(folder / "documents.jsonl")
    others = [row for row in rows if row["id"] not in required][:OTHER_DOCUMENTS]
    documents = [row for row in rows if row["id"] in required] + others
    source, out = tmp_path / "source", tmp_path / "bank"
    source.mkdir()
    for name, records in (("tasks", tasks), ("documents", documents)):
        (source / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert converter("banking").convert(source, out) == (len(required) + OTHER_DOCUMENTS, TASKS)
    return Bank(tasks, {f"{row['id']}.md": f"# {row['title']}\n\n{row['content']}\n" for row in documents}, out)


def test_a_part_of_the_bank_is_answered_without_a_failure_and_its_retrieval_measured(arms_run: Run, bank: Bank) -> None:
    command = ("--product", "rho-bank", "--questions", "bank/questions.json", "--arms", "baseline,docs:local:bank/documents", *OFFLINE)
    first = arms_run(*command)
    assert (first["calls"]["paid"], first["calls"]["failed"]) == (2 * TASKS, 0)
    file = json.loads(Path("results/arms/rho-bank.json").read_text(encoding="utf-8"))
    assert [record["question_id"] for record in file["answers"]] == [task["id"] for task in bank.tasks]
    answers = [record["arms"]["docs"] for record in file["answers"]]
    assert all("error" not in answer for record in file["answers"] for answer in record["arms"].values())

    found = [first_stage(task["instructions"], bank.documents) for task in bank.tasks]
    assert [answer["metadata"]["retrieved_sources"] for answer in answers] == found
    kept = [[chunk["source"] for chunk in answer["context_chunks"]] for answer in answers]
    assert all(len(names) <= KEPT and set(names) <= set(retrieved) for names, retrieved in zip(kept, found, strict=True))

    assert list(file["retrieval_summary"]) == ["docs"], "the baseline retrieves nothing"
    docs = file["retrieval_summary"]["docs"]
    for names, block, k in ((found, docs["retrieved"], TOP_K), (kept, docs["kept"], KEPT)):
        recalls = [recall(row, task["required_documents"]) for row, task in zip(names, bank.tasks, strict=True)]
        assert (block["k"], block["n"], block["hits"]) == (k, TASKS, sum(rate > 0 for rate in recalls))
        assert block["recall_mean"] == pytest.approx(fmean(recalls), abs=5e-5)
        assert block["recall_ci_lo"] <= block["recall_mean"] <= block["recall_ci_hi"]
    assert docs["retrieved"]["hits"] > 0, "a part without a single hit would show nothing"
    assert first["retrieval"][0].startswith(f"docs: recall@5 {docs['retrieved']['recall_mean']:.3f}")
    assert "## Retrieval" in Path("results/arms/rho-bank.md").read_text(encoding="utf-8")


def test_a_second_run_over_the_bank_asks_nothing(arms_run: Run, bank: Bank) -> None:
    command = ("--product", "rho-bank", "--questions", "bank/questions.json", "--arms", "baseline,docs:local:bank/documents", *OFFLINE)
    arms_run(*command)
    again = arms_run(*command)
    assert again["unchanged"] is True
    assert (again["calls"]["paid"], again["calls"]["replayed"]) == (0, 0)
    # A file that is new to the corpus makes the answers stale; those whose prompt it leaves alone are replayed.
    (bank.out / "documents" / "zzz.md").write_text("# Zzz\n", encoding="utf-8")
    after = arms_run(*command)
    assert after["unchanged"] is False
    assert (after["calls"]["paid"], after["calls"]["replayed"]) == (0, 2 * TASKS)


def test_what_an_answer_was_given_is_on_record_by_digest(arms_run: Run, bank: Bank) -> None:
    arms_run("--product", "rho-bank", "--questions", "bank/questions.json", "--arms", "baseline,docs:local:bank/documents", *OFFLINE)
    file = json.loads(Path("results/arms/rho-bank.json").read_text(encoding="utf-8"))
    for record in file["answers"]:
        baseline, docs = record["arms"]["baseline"], record["arms"]["docs"]
        assert DIGEST.fullmatch(docs["context_digest"])
        assert docs["context_digest"] != baseline["context_digest"]
        assert docs["judge_context_sha256"] in file["judge_materials"]
        characters = len("\n\n---\n\n".join(bank.documents[chunk["source"]] for chunk in docs["context_chunks"]))
        assert docs["metadata"].get("context_truncated", False) == (characters > 15_000)


@pytest.mark.parametrize("skill", SKILLS)
def test_a_skill_is_graded_by_its_own_checks(arms_run: Run, tmp_path: Path, skill: str) -> None:
    source = data_folder("skills") / "skills"
    converter("skills_catalog").convert(source, tmp_path / "questions")
    shutil.copytree(source / skill, tmp_path / "skills" / skill)
    cases = json.loads((source / skill / "evals" / "evals.json").read_text(encoding="utf-8"))["evals"]
    write_careless_skill(tmp_path / "skills" / "careless", cases)
    arms = ("baseline", f"skill:skills/{skill}", "skill:skills/careless")
    arms_run("--product", skill, "--questions", f"questions/{skill}.json", "--arms", ",".join(arms), *OFFLINE, *JUDGED)
    file = json.loads(Path(f"results/arms/{skill}.json").read_text(encoding="utf-8"))

    points: dict[str, list[float]] = {arm: [] for arm in file["arms"]}
    for case, record, evaluation in zip(cases, file["answers"], file["evaluations"], strict=True):
        assert record["question_id"] == evaluation["question_id"] == case["id"]
        wanted, unwanted = case["checks"]["must_include"], case["checks"]["must_not_include"]
        for arm, answer in record["arms"].items():
            stated = [fact for fact in wanted if states(answer["answer"], fact)]
            forbidden = [fact for fact in unwanted if states(answer["answer"], fact)]
            score = evaluation["scores"][arm]
            assert score["notes"]["forbidden_stated"] == forbidden
            assert score["notes"]["missing"] == [fact for fact in wanted if fact not in stated]
            points[arm].append(100 * max(0, len(stated) - len(forbidden)) / len(wanted))
            assert score["aggregate"] == pytest.approx(points[arm][-1])
    per_arm = file["summary"]["per_arm"]
    for arm, scored in points.items():
        assert (per_arm[arm]["n"], per_arm[arm]["avg_aggregate"]) == (len(cases), pytest.approx(fmean(scored), abs=0.05))
    differences = [candidate - baseline for candidate, baseline in zip(points[f"skill:{skill}"], points["baseline"], strict=True)]
    assert per_arm[f"skill:{skill}"]["significance"]["delta_mean"] == pytest.approx(fmean(differences), abs=0.005)
    careless = [evaluation["scores"]["skill:careless"]["forbidden_stated"] for evaluation in file["evaluations"]]
    assert max(careless) > 0, "an answer that says what it must not is counted"


def test_the_skill_that_was_injected_is_on_record_with_its_size_and_digest(arms_run: Run, tmp_path: Path) -> None:
    skill = SKILLS[0]
    source = data_folder("skills") / "skills"
    converter("skills_catalog").convert(source, tmp_path / "questions")
    long_skill = tmp_path / "skills" / "long"
    shutil.copytree(source / skill, tmp_path / "skills" / skill)
    long_skill.mkdir()
    body = "Choose the backend at build time.\n" * 1_000
    (long_skill / "SKILL.md").write_text(f"---\nname: long\ndescription: Too long.\n---\n{body}", encoding="utf-8")
    arms = f"baseline,skill:skills/{skill},skill:skills/long"
    arms_run("--product", skill, "--questions", f"questions/{skill}.json", "--arms", arms, *OFFLINE, *JUDGED)
    file = json.loads(Path(f"results/arms/{skill}.json").read_text(encoding="utf-8"))
    for record in file["answers"]:
        whole, cut = (record["arms"][f"skill:{name}"]["metadata"] for name in (skill, "long"))
        assert whole["skill_truncated"] is False
        assert whole["skill_chars"] == whole["skill_chars_source"]
        assert cut["skill_truncated"] is True
        assert cut["skill_chars"] < cut["skill_chars_source"] == len(body.strip())
        assert DIGEST.fullmatch(whole["skill_sha256"])
        assert whole["skill_sha256"] != cut["skill_sha256"]
    assert "skill body that was cut at its limit" in Path(f"results/arms/{skill}.md").read_text(encoding="utf-8")


def json_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def first_stage(question: str, documents: dict[str, str]) -> list[str]:
    """Rank documents by the share of the question's words that stand somewhere in them, the plain way."""
    words = set(re.findall(r"\w+", question.lower()))
    shares = {name: sum(word in text.lower() for word in words) / len(words) for name, text in documents.items()}
    return sorted(shares, key=lambda name: (-shares[name], name))[:TOP_K]


def recall(names: list[str], required: list[str]) -> float:
    return sum(f"{document}.md" in names for document in required) / len(required)


def states(answer: str, fact: str) -> bool:
    """Say whether a fact's words stand in the answer one after another."""
    words, wanted = (re.findall(r"[^\W_]+(?:_[^\W_]+)*", text.casefold()) for text in (answer, fact))
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def write_careless_skill(folder: Path, cases: list[dict[str, Any]]) -> None:
    """Write a skill that tells an agent to say, for each question, what the question's checks forbid."""
    advice = [f"For {case['prompt'].rstrip('.')}: {'; '.join(case['checks']['must_not_include'])}." for case in cases]
    folder.mkdir()
    lines = "\n".join(advice)
    (folder / "SKILL.md").write_text(f"---\nname: careless\ndescription: Bad advice.\n---\n\n{lines}\n", encoding="utf-8")
