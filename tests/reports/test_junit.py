"""JUnit files parse whatever the texts hold, and keep their counts: a file that does not parse shows a CI server no test at all."""

import json
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from evalplatform.reports.junit import JUnitCase, junit_xml

PITFALLS = Path(__file__).parents[1] / "cases" / "pitfalls.json"
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
OUTCOMES = {"failed": "failure", "error": "error", "skipped": "skipped"}
CASES = st.lists(
    st.builds(JUnitCase, group=ANY_TEXT, name=ANY_TEXT, outcome=st.sampled_from(["passed", *OUTCOMES]), text=ANY_TEXT), max_size=6
)


def suite_of(data: bytes) -> ElementTree.Element:
    (suite,) = ElementTree.fromstring(data)
    return suite


def is_xml_character(character: str) -> bool:
    """XML 1.0 (fifth edition), production 2."""
    point = ord(character)
    return point in (0x9, 0xA, 0xD) or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or 0x10000 <= point <= 0x10FFFF


def test_the_message_of_pitfall_t03_is_kept_with_its_controls_made_visible() -> None:
    pitfalls = json.loads(PITFALLS.read_text(encoding="utf-8"))
    message = next(pitfall["input"]["failure_message"] for pitfall in pitfalls if pitfall["id"] == "T03")
    data = junit_xml(
        "batch", [JUnitCase(group="a.json", name="coverage", outcome="failed", text=message), JUnitCase(group="a.json", name="arms")]
    )
    assert b"]]>" not in data
    suite = suite_of(data)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite.iter("failure")
    assert failure.text == "expected 200\n⟨U+001B⟩[31mred⟨U+001B⟩[0m ⟨U+0000⟩ ⟨U+FFFE⟩ ]]>"
    assert failure.get("message") == "expected 200 ⟨U+001B⟩[31mred⟨U+001B⟩[0m ⟨U+0000⟩ ⟨U+FFFE⟩ ]]>"


@given(suite_name=ANY_TEXT, cases=CASES)
@example(suite_name="\ud800", cases=[JUnitCase(group="\x1b", name="\x00]]>", outcome="error", text="\ufffe\uffff\r\n<![CDATA[")])
def test_any_text_parses_and_every_count_is_kept(suite_name: str, cases: list[JUnitCase]) -> None:
    data = junit_xml(suite_name, cases)
    assert all(map(is_xml_character, data.decode("utf-8")))
    suite = suite_of(data)
    elements = list(suite.iter("testcase"))
    assert len(elements) == len(cases) == int(suite.get("tests", "-1"))
    for case, element in zip(cases, elements, strict=True):
        assert [child.tag for child in element] == ([] if case.outcome == "passed" else [OUTCOMES[case.outcome]])
    for outcome, count in (("failed", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(count, "-1")) == sum(case.outcome == outcome for case in cases)


@given(text=st.text(st.characters(min_codepoint=0x20, max_codepoint=0xD7FF, exclude_categories=("Cc", "Cf", "Zl", "Zp"))))
def test_a_text_that_xml_can_hold_comes_back_as_it_was(text: str) -> None:
    (failure,) = suite_of(junit_xml("s", [JUnitCase(group="g", name="n", outcome="failed", text=f"[{text}]")])).iter("failure")
    assert failure.text == f"[{text}]"
