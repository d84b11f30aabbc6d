"""The example measures something true: every fact stands where its question says, and nothing forbidden is ever right."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evalplatform.judging.words import TokenText
from evalplatform.project.load import load_project
from evalplatform.questions.read import read_question_set

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "evalplatform-docs"
DOCS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
SKILL = (EXAMPLE / "skills" / "use-evalplatform" / "SKILL.md").read_text(encoding="utf-8")
SKILL_BODY = SKILL.split("\n---\n", 1)[1]
PROFILES = sorted((EXAMPLE / "profiles").glob("*.md"))
QUESTIONS = json.loads((EXAMPLE / "questions.json").read_text(encoding="utf-8"))["questions"]
SKILL_LIMIT_CHARS = 9_000
API_SHAPES = re.compile(r"\w+\.\w+|\w+=\S|\w+\(|--\w|`|\b[a-z]+_[a-z_]+\b")

by_id = pytest.mark.parametrize("question", QUESTIONS, ids=[question["id"] for question in QUESTIONS])


def wordings(fact: str | dict[str, list[str]]) -> list[str]:
    return [fact] if isinstance(fact, str) else fact["any_of"]


def states_fact(text: str, fact: str | dict[str, list[str]]) -> bool:
    """By the rule of the judge that the example uses."""
    return any(TokenText(text).states(wording) for wording in wordings(fact))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def word_runs(text: str, length: int) -> set[tuple[str, ...]]:
    all_words = words(text)
    return {tuple(all_words[start : start + length]) for start in range(len(all_words) - length + 1)}


def test_the_set_has_forty_questions_of_every_origin_and_difficulty():
    assert len(QUESTIONS) == 40
    assert len({question["id"] for question in QUESTIONS}) == 40
    assert set(Counter(question["metadata"]["where"] for question in QUESTIONS)) == {"docs", "skill", "both"}
    assert set(Counter(question["difficulty"] for question in QUESTIONS)) == {"easy", "medium", "hard"}
    assert any(question.get("forbidden_facts") for question in QUESTIONS)


@by_id
def test_every_expected_fact_stands_in_the_material_that_the_question_names(question):
    where = question["metadata"]["where"]
    pages = [DOCS[name] for name in question["metadata"]["required_documents"]]
    assert bool(pages) == (where != "skill")
    material = "\n".join([*pages, *([SKILL_BODY] if where != "docs" else [])])
    for fact in question["expected_facts"]:
        assert states_fact(material, fact), fact


@by_id
def test_a_question_for_the_skill_alone_is_not_answered_by_any_page(question):
    if question["metadata"]["where"] != "skill":
        return
    for name, page in DOCS.items():
        assert not all(states_fact(page, fact) for fact in question["expected_facts"]), name


@by_id
def test_no_page_and_no_skill_says_what_is_forbidden(question):
    for fact in question.get("forbidden_facts", []):
        for text in [*DOCS.values(), SKILL]:
            assert not states_fact(text, fact), fact


@by_id
def test_a_question_does_not_give_its_own_answer_away(question):
    assert not all(states_fact(question["question"], fact) for fact in question["expected_facts"])


def test_the_skill_is_well_below_the_cap_and_its_files_exist():
    assert len(SKILL_BODY) < SKILL_LIMIT_CHARS
    for reference in re.findall(r"references/[\w-]+\.md", SKILL_BODY):
        assert (EXAMPLE / "skills" / "use-evalplatform" / reference).is_file()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_a_profile_carries_no_product_content(profile):
    body = profile.read_text(encoding="utf-8").split("\n---\n", 1)[1]
    assert API_SHAPES.findall(body) == []
    assert word_runs(body, 5) & word_runs(SKILL, 5) == set()
    assert "evalplatform" not in body.lower()


def test_the_profile_checks_catch_what_they_are_for():
    assert API_SHAPES.search("call reports.render first")
    assert API_SHAPES.search("pass top_k")
    assert word_runs("read the pilot's failures and unscored answers now", 5) & word_runs(SKILL, 5)


def test_relative_links_between_pages_lead_somewhere():
    pages = [*(ROOT / "docs").glob("*.md"), EXAMPLE / "README.md", ROOT / "CONTRIBUTING.md"]
    broken = [
        (page.name, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_example_loads_with_its_questions_cells_and_judge():
    project = load_project(EXAMPLE / "evalplatform.yaml")
    suite = project.suite("docs")
    assert [cell.id for cell in project.cells_of("docs")] == ["brief", "full"]
    assert [judge.settings.kind for judge in project.judges_of("docs")] == ["overlap"]
    assert len(suite.arms) == 5
    question_set = read_question_set(EXAMPLE / suite.questions)
    assert (len(question_set.questions), question_set.warnings) == (40, ())


def test_the_project_file_shown_in_the_docs_loads(tmp_path):
    shown = re.search(r"```yaml\n(.*?)```", DOCS["project-file"], re.DOTALL)
    assert shown is not None
    (tmp_path / "evalplatform.yaml").write_text(shown[1], encoding="utf-8")
    project = load_project(tmp_path / "evalplatform.yaml")
    assert [cell.id for cell in project.cells_of("main")] == ["small"]
    assert project.max_cost_usd("main") == 5
