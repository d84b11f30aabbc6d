import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.arms.front_matter import split_front_matter


def test_crlf_files_are_read_and_their_bodies_keep_crlf():
    found = split_front_matter("---\r\nname: demo\r\ndescription: d\r\n---\r\nbody\r\n")
    assert dict(found.metadata) == {"name": "demo", "description": "d"}
    assert found.body == "body\r\n"


def test_a_byte_order_mark_is_dropped_and_remembered():
    found = split_front_matter("\ufeff---\nname: demo\n---\nbody\n")
    assert (dict(found.metadata), found.body, found.had_byte_order_mark) == ({"name": "demo"}, "body\n", True)
    assert split_front_matter("\ufeffplain").body == "plain"


@pytest.mark.parametrize("text", ["", "# Title\n\n---\n\nid: x\n---\n", " ---\nid: x\n---\n", "----\nid: x\n---\n"])
def test_a_text_that_does_not_begin_with_a_fence_is_all_body(text):
    found = split_front_matter(text)
    assert (found.body, found.present, dict(found.metadata), found.problem) == (text, False, {}, None)


def test_a_rule_in_the_body_survives():
    assert split_front_matter("---\nname: a\n---\n# T\n\n---\nrule\n").body == "# T\n\n---\nrule\n"


def test_a_block_that_is_never_closed_keeps_the_whole_text_as_body():
    found = split_front_matter("---\nname: a\ndescription: d\n")
    assert found.body == "---\nname: a\ndescription: d\n"
    assert found.problem is not None
    assert (found.problem.line, found.problem.text) == (1, "---")


@pytest.mark.parametrize("text", ["---\nname: a\n---", "---\nname: a\n---\n"])
def test_the_file_may_end_right_after_the_closing_fence(text):
    found = split_front_matter(text)
    assert (dict(found.metadata), found.body, found.problem) == ({"name": "a"}, "", None)


def test_an_empty_block_is_no_metadata_and_no_problem():
    found = split_front_matter("---\n---\nbody")
    assert (dict(found.metadata), found.body, found.present, found.problem) == ({}, "body", True, None)


@pytest.mark.parametrize(
    ("block", "line", "text"),
    [
        ("name: harden\ndescription: Make it ready: error handling", 3, "description: Make it ready: error handling"),
        ("name: [a\n", 3, ""),
        ("just words", 2, "just words"),
        ("- a\n- b", 2, "- a"),
        ("name: a\nname: b", 3, "name: b"),
        ("day: 2026-13-45", 2, "day: 2026-13-45"),
        ("name: \x07", 2, "name: \x07"),
        ("name: " + "[" * 400, 2, None),
    ],
)
def test_broken_yaml_leaves_no_metadata_keeps_the_body_and_names_line_and_text(block, line, text):
    found = split_front_matter(f"---\n{block}\n---\nbody")
    assert (dict(found.metadata), found.body) == ({}, "body")
    assert found.problem is not None
    assert found.problem.line == line
    assert text is None or found.problem.text == text


def test_words_that_yaml_1_1_takes_for_booleans_stay_words():
    assert dict(split_front_matter("---\nid: no\nname: on\n---\n").metadata) == {"id": "no", "name": "on"}


@given(st.text())
def test_no_text_makes_the_splitter_fail(text):
    assert split_front_matter(text).body in text


@given(st.text(alphabet="-\n\r ab:#", max_size=40))
def test_what_follows_the_closing_fence_is_the_body_to_the_letter(body):
    assert split_front_matter(f"---\nid: x\n---\n{body}").body == body
