import json
from pathlib import Path

import pytest

from evalplatform.arms.skill_lint import lint_skill
from tests.support.requirements import data_folder

K06 = next(
    pitfall["input"]
    for pitfall in json.loads((Path(__file__).parents[1] / "cases" / "pitfalls.json").read_text())
    if pitfall["id"] == "K06"
)


def findings(folder: Path, text: str) -> set[tuple[str, str]]:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    assert lint_skill(folder) == lint_skill(folder / "SKILL.md")
    return {(finding.rule_set, finding.rule) for finding in lint_skill(folder)}


@pytest.mark.parametrize(
    ("name", "expected"),
    list(
        zip(
            K06["names"],
            [
                {("agent-skills", "name-not-lower-case"), ("quick-validate", "name-characters")},
                {("agent-skills", "name-hyphen-at-end"), ("quick-validate", "name-hyphen-at-end")},
                {("agent-skills", "name-double-hyphen"), ("quick-validate", "name-double-hyphen")},
                {("agent-skills", "name-too-long"), ("quick-validate", "name-too-long")},
                {("quick-validate", "name-characters")},
            ],
            strict=True,
        )
    ),
)
def test_a_name_breaks_the_rules_of_each_rule_set_by_name(tmp_path, name, expected):
    assert findings(tmp_path / name, f"---\nname: {name}\ndescription: d\n---\nbody") == expected


@pytest.mark.parametrize(
    ("chars", "expected"),
    list(
        zip(
            K06["description_len"],
            [
                {("agent-skills", "description-missing")},
                set(),
                {("agent-skills", "description-too-long"), ("quick-validate", "description-too-long")},
            ],
            strict=True,
        )
    ),
)
def test_a_description_has_one_to_1024_characters(tmp_path, chars, expected):
    assert findings(tmp_path / "demo", f"---\nname: demo\ndescription: '{'d' * chars}'\n---\nbody") == expected


def test_the_folder_must_be_called_like_the_skill_for_the_specification_alone(tmp_path):
    assert findings(tmp_path / "other", "---\nname: demo\ndescription: d\n---\nbody") == {("agent-skills", "name-not-folder")}


def test_angle_brackets_are_refused_by_the_quick_checker_alone(tmp_path):
    assert findings(tmp_path / "demo", "---\nname: demo\ndescription: use <b>\n---\nbody") == {
        ("quick-validate", "description-angle-brackets")
    }


def test_unknown_fields_and_long_compatibility_are_found_by_both(tmp_path):
    found = findings(tmp_path / "demo", f"---\nname: demo\ndescription: d\nauthor: me\ncompatibility: {'c' * 501}\n---\nbody")
    assert found == {(rules, rule) for rules in ("agent-skills", "quick-validate") for rule in ("field-unknown", "compatibility-too-long")}


def test_what_the_loader_tolerates_is_a_warning_and_what_it_refuses_an_error(tmp_path):
    assert findings(tmp_path / "demo", "\ufeff---\nname: demo\ndescription: d\n---") == {
        ("loading", "byte-order-mark"),
        ("loading", "body-empty"),
    }
    assert all(finding.severity == "warning" for finding in lint_skill(tmp_path / "demo"))
    assert findings(tmp_path / "open", "---\nname: open\n") == {("loading", "front-matter-unreadable")}
    assert [finding.severity for finding in lint_skill(tmp_path / "open")] == ["error"]


def test_a_text_without_front_matter_is_told_so_by_every_rule_set(tmp_path):
    assert findings(tmp_path / "demo", "body") == {
        ("loading", "front-matter-missing"),
        *((rules, rule) for rules in ("agent-skills", "quick-validate") for rule in ("name-missing", "description-missing")),
    }


def test_a_real_catalog_is_clean():
    catalog = data_folder("skills") / "skills"
    assert {folder.name: lint_skill(folder) for folder in catalog.iterdir() if lint_skill(folder)} == {}
