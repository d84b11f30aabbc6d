"""Guards over the skills and profiles that this repository ships: none grows into the cap, and no profile carries what a skill should."""

import re
from pathlib import Path

import pytest

from evalplatform.arms.front_matter import split_front_matter
from evalplatform.arms.payload import PAYLOAD_CAP_CHARS
from evalplatform.arms.skill_files import SKILL_FILE, load_skill
from evalplatform.arms.skill_lint import lint_skill

ROOT = Path(__file__).parents[2]
SHIPPED = [ROOT / "examples", ROOT / "evalplatform"]
NEAR_CAP_CHARS = PAYLOAD_CAP_CHARS * 95 // 100
SHARED_RUN_WORDS = 5

OVER_CAP_RESOURCES: dict[str, str] = {}
"""Bundled skill files that may be over the cap, with the reason; keyed by path relative to the repository."""

API_SHAPES = {
    "a dotted name": re.compile(r"\b[A-Za-z_]\w+\.[A-Za-z_]\w+"),
    "a C++ name": re.compile(r"\b\w+::\w+"),
    "a keyword argument": re.compile(r"\b[A-Za-z_]\w*=[^\s=]"),
    "a bare call": re.compile(r"\b[A-Za-z_]\w*\([^()]*\)"),
}


def shipped(pattern: str) -> list[Path]:
    return sorted(path for root in SHIPPED for path in root.rglob(pattern))


def body(path: Path) -> str:
    return split_front_matter(path.read_text(encoding="utf-8")).body.strip()


def api_shapes(text: str) -> list[str]:
    return [f"{shape}: {match[0]}" for shape, pattern in API_SHAPES.items() for match in pattern.finditer(text)]


def word_runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[start : start + SHARED_RUN_WORDS]) for start in range(len(words) - SHARED_RUN_WORDS + 1)}


SKILLS = shipped(SKILL_FILE)
PROFILES = shipped("profiles/*.md")


def test_no_injected_fixture_is_within_five_percent_of_the_cap():
    assert SKILLS, "no skill is shipped: this scan would measure nothing"
    assert PROFILES, "no profile is shipped: this scan would measure nothing"
    sizes = {str(path.relative_to(ROOT)): len(body(path)) for path in [*SKILLS, *PROFILES]}
    largest = max(sizes, key=lambda path: sizes[path])
    assert sizes[largest] < NEAR_CAP_CHARS, f"largest: {largest} with {sizes[largest]:,} of {PAYLOAD_CAP_CHARS:,} characters"


def test_every_bundled_file_over_the_cap_is_listed_with_a_reason():
    bundled = [path for skill in SKILLS for path in skill.parent.rglob("*") if path.is_file() and path.name != SKILL_FILE]
    over = {str(path.relative_to(ROOT)) for path in bundled if len(path.read_text(encoding="utf-8")) > PAYLOAD_CAP_CHARS}
    assert over == set(OVER_CAP_RESOURCES)


@pytest.mark.parametrize("path", SKILLS, ids=str)
def test_every_shipped_skill_loads_and_is_clean(path):
    assert load_skill(str(path.parent), base_folder=ROOT).name == path.parent.name
    assert lint_skill(path.parent) == ()


@pytest.mark.parametrize("path", PROFILES, ids=str)
def test_a_profile_says_how_to_work_and_names_no_api(path):
    assert api_shapes(body(path)) == []


@pytest.mark.parametrize("path", PROFILES, ids=str)
def test_a_profile_does_not_repeat_a_skill(path):
    for skill in SKILLS:
        assert word_runs(body(path)) & word_runs(skill.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", PROFILES, ids=str)
def test_a_profile_is_named_after_its_id(path):
    assert split_front_matter(path.read_text(encoding="utf-8")).metadata.get("id") == path.stem


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("prefer asyncio.run here", "a dotted name"),
        ("use std::sort", "a C++ name"),
        ("pass timeout=3", "a keyword argument"),
        ("call connect() first", "a bare call"),
        ("call connect(host) first", "a bare call"),
    ],
)
def test_the_api_check_sees_each_shape(text, shape):
    assert [found.split(":")[0] for found in api_shapes(text)] == [shape]


def test_the_api_check_leaves_prose_alone():
    assert api_shapes("Be terse (one paragraph), e.g. code first. Say so; do not guess. 3.5 lines = fine.") == []


def test_the_repetition_check_sees_five_words_in_a_row_and_not_four():
    skill = word_runs("Always close the pool before leaving.")
    assert word_runs("So always CLOSE the pool, before lunch") & skill
    assert not word_runs("always close the pool after lunch") & skill
