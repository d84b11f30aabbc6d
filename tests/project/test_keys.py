"""Cell keys and judge keys: what changes them, and what does not."""

from pathlib import Path

import pytest

from tests.support.starter import starter_project

READER = "reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
JUDGE = "facts: {kind: rubric, model: grader, endpoint: there, rubric: rubric.md, sampling: {temperature: 0}}"
THERE = 'there: {provider: openai-compatible, base_url: "http://localhost:1/v1"}'
BASE = (
    ("  here: {provider: offline}", f"  here: {{provider: offline}}\n  {THERE}"),
    ("facts: {kind: overlap, model: overlap, endpoint: here}", JUDGE),
)


def keys(folder: Path, *replacements: tuple[str, str], rubric: str = "Be strict.") -> tuple[str, str]:
    folder.mkdir(parents=True)
    (folder / "rubric.md").write_text(rubric)
    project = starter_project(folder, *BASE, *replacements)
    return project.cell("reader").key, project.judge("facts").key


@pytest.mark.parametrize(
    "change",
    [
        ("model: extractive", "model: other"),
        (READER, "reader: {model: extractive, endpoint: there, sampling: {max_tokens: 120}}"),
        ("max_tokens: 120", "max_tokens: 121"),
        ("max_tokens: 120", "max_tokens: 120, temperature: 0"),
        ("max_tokens: 120", "max_tokens: 120, top_p: 0.5"),
        ("max_tokens: 120", "max_tokens: 120, extra: {reasoning_effort: low}"),
        ("max_tokens: 120", "temperature: 0.5"),
        (READER, READER.replace("{model", "{harness: agent, model")),
        ("  here: {provider: offline}", "  here: {provider: ollama}"),
        ("  here: {provider: offline}", '  here: {provider: offline, base_url: "http://localhost:2/v1"}'),
    ],
)
def test_what_changes_answers_changes_the_cell_key_and_not_its_id(tmp_path: Path, change: tuple[str, str]) -> None:
    before, after = keys(tmp_path / "a")[0], keys(tmp_path / "b", change)[0]
    assert before != after
    assert before.startswith("reader-")
    assert after.startswith("reader-")


@pytest.mark.parametrize(
    "change",
    [
        ("  here: {provider: offline}", "  here: {provider: offline, prices: {input_per_million_usd: 1, output_per_million_usd: 2}}"),
        ("  here: {provider: offline}", "  here: {provider: offline, limits: {max_concurrent: 2, requests_per_minute: 9}}"),
        ("  here: {provider: offline}", "  here: {provider: offline, key_env: SOME_KEY}"),
        ("  here: {provider: offline}", "  here: {provider: offline, retry: {attempts: 9}, timeout_seconds: 3, stream: true}"),
        ("max_tokens: 120", "max_tokens: 120, seed: 7"),
        ("max_tokens: 120", "max_tokens: 120, extra: {}"),
        ("project: my-project", "project: renamed"),
        ("questions: questions.json", "questions: others.json"),
    ],
)
def test_what_does_not_change_what_an_answer_means_keeps_both_keys(tmp_path: Path, change: tuple[str, str]) -> None:
    assert keys(tmp_path / "a") == keys(tmp_path / "b", change)


def test_an_endpoint_may_be_renamed(tmp_path: Path) -> None:
    renamed = (("  here: {provider: offline}", "  near: {provider: offline}"), (READER, READER.replace("here", "near")))
    assert keys(tmp_path / "a") == keys(tmp_path / "b", *renamed)


@pytest.mark.parametrize(
    "change",
    [
        ("model: grader", "model: grader-2"),
        ("sampling: {temperature: 0}", "sampling: {temperature: 1}"),
        ("sampling: {temperature: 0}", "sampling: {}"),
        ("rubric: rubric.md, ", ""),
        ("rubric: rubric.md", "rubric: rubric.md, grounded_from_topics: true"),
        ("localhost:1", "localhost:2"),
        (THERE, THERE.replace("openai-compatible", "vllm")),
    ],
)
def test_what_changes_points_changes_the_judge_key(tmp_path: Path, change: tuple[str, str]) -> None:
    assert keys(tmp_path / "a")[1] != keys(tmp_path / "b", change)[1]


def test_the_rubrics_words_are_part_of_the_judge_key_and_its_file_name_and_seed_are_not(tmp_path: Path) -> None:
    key = keys(tmp_path / "a")[1]
    assert key != keys(tmp_path / "b", rubric="Be lenient.")[1]
    assert key == keys(tmp_path / "c", ("sampling: {temperature: 0}", "sampling: {temperature: 0, seed: 3}"))[1]
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "other.md").write_text("Be strict.")
    assert key == starter_project(tmp_path / "d", *BASE, ("rubric: rubric.md", "rubric: other.md")).judge("facts").key


def test_keys_are_the_same_on_every_machine(tmp_path: Path) -> None:
    """A change here retires every key that users have: only with a new version of the schema."""
    assert keys(tmp_path / "a")[0] == "reader-26ddb5"


def test_the_roles_of_a_panel_and_their_order_are_part_of_its_key(tmp_path: Path) -> None:
    def key(folder: str, roles: str) -> str:
        return keys(tmp_path / folder, (JUDGE, JUDGE.replace("kind: rubric", f"kind: panel{roles}")))[1]

    everyone = ", roles: [technical_expert, developer_advocate, doc_reviewer]"
    different = {key("a", ""), key("b", ", roles: [doc_reviewer]"), key("c", ", roles: [doc_reviewer, technical_expert]")}
    assert len(different) == 3
    assert key("d", everyone) == key("e", "")
