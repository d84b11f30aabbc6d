"""How a judge's reply is read: in one order, strictly, and never by guessing."""

import json
from pathlib import Path

import pytest

from evalplatform.judging.parsing import NotJsonError, RubricReply, Unreadable, claim_is_wrong, points_number, read_rubric_reply, reply_json

CASES = Path(__file__).parents[1] / "cases"
EXTRACTIONS = json.loads((CASES / "treatment-arms" / "json_extraction.json").read_text(encoding="utf-8"))
PITFALLS = {pitfall["id"]: pitfall for pitfall in json.loads((CASES / "pitfalls.json").read_text(encoding="utf-8"))}
DIMENSIONS = ("correctness", "completeness")


def reply(**fields: object) -> str:
    return json.dumps({"correctness": 90, "completeness": 80, "aggregate": 85, **fields})


def read(text: str) -> RubricReply:
    reading = read_rubric_reply(text, dimensions=DIMENSIONS)
    assert isinstance(reading, RubricReply)
    return reading


def unread(text: str) -> Unreadable:
    reading = read_rubric_reply(text, dimensions=DIMENSIONS)
    assert isinstance(reading, Unreadable)
    return reading


@pytest.mark.parametrize("case", EXTRACTIONS, ids=[case["in"] or "empty" for case in EXTRACTIONS])
def test_the_worked_replies_are_read_or_refused_as_listed(case: dict[str, object]) -> None:
    text = str(case["in"])
    if "out" in case:
        assert reply_json(text) == case["out"]
    else:
        with pytest.raises(NotJsonError):
            reply_json(text)


@pytest.mark.parametrize(("pitfall", "key", "value"), [("J01", "score", 0.63), ("J02", "score", 1), ("J03", "pass", True)])
def test_a_fenced_a_fence_holding_and_a_wordy_reply_are_read(pitfall: str, key: str, value: object) -> None:
    fields = reply_json(PITFALLS[pitfall]["input"]["judge_reply"])
    assert isinstance(fields, dict)
    assert fields[key] == value


def test_a_reason_keeps_its_braces_and_fences() -> None:
    assert reply_json(PITFALLS["J03"]["input"]["judge_reply"])["reason"] == "handles {nested} braces"  # type: ignore[index]
    assert "```py" in reply_json(PITFALLS["J02"]["input"]["judge_reply"])["reason"]  # type: ignore[index]


def test_prose_around_json_whose_text_holds_a_fence_falls_back_to_the_braces() -> None:
    assert reply_json('Verdict: {"a": "```py\\nx\\n```"} done') == {"a": "```py\nx\n```"}


def test_a_number_with_repeated_digits_is_out_of_range_and_never_clamped() -> None:
    score = PITFALLS["J05"]["input"]["judge_tool_call"]["arguments"]["score"]
    assert unread(reply(correctness=score)).reason == "out_of_range"


@pytest.mark.parametrize("value", [100.01, -0.1, -1, "101", 10**400, -(10**400), "-5"])
def test_a_number_outside_the_scale_is_out_of_range(value: object) -> None:
    assert unread(reply(completeness=value)).reason == "out_of_range"


@pytest.mark.parametrize(
    "value", [True, None, "8/10", "85%", "high", "", "nan", "inf", "1_0", "８５", [85], {"score": 85}, float("nan"), float("inf")]
)
def test_what_is_no_number_is_malformed(value: object) -> None:
    assert unread(reply(completeness=value)) == Unreadable(reason="malformed_reply", detail="no number in: completeness")


@pytest.mark.parametrize(("value", "points"), [(0, 0.0), (100, 100.0), ("85", 85.0), (" 85.5 ", 85.5), ("8.5e1", 85.0), (-0.0, 0.0)])
def test_a_number_or_its_text_is_read_as_it_is(value: object, points: float) -> None:
    number = read(reply(completeness=value)).dimensions["completeness"]
    assert repr(number) == repr(points)


def test_a_reply_with_both_faults_is_malformed() -> None:
    assert unread(reply(correctness=955555, completeness=None)).reason == "malformed_reply"


@pytest.mark.parametrize("text", [json.dumps({"correctness": 90, "completeness": 80}), json.dumps({"correctness": 90, "aggregate": 80})])
def test_a_missing_aggregate_or_dimension_is_malformed(text: str) -> None:
    assert unread(text).reason == "malformed_reply"


def test_the_value_of_aggregate_is_not_used() -> None:
    assert read(reply(aggregate=None)) == read(reply(aggregate=955555)) == read(reply())


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [
        ("5 ms: wrong", True),
        ("5 ms – incorrect", True),
        ("5 ms (WRONG)", True),
        ("5 ms: clearly wrong", True),
        ("5 ms: incorrect (should be 6)", True),
        ("2:1 ratio: wrong", True),
        ("5 ms: maybe, 6 ms: wrong", True),
        ("5 ms: correct", False),
        ("5 ms: right", False),
        ("5 ms: partially correct", False),
        ("5 (correct): wrong", False),
        ("5 ms: not wrong", None),
        ("5 ms: quite wrong", None),
        ("5 ms: very clearly wrong", None),
        ("5 ms-wrong", None),
        ("5 ms wrong", None),
        ("wrong", None),
        ("5 ms: wrongly stated", None),
        ("5 ms: unverifiable", None),
        ({"claim": "5 ms", "verdict": "wrong"}, True),
        ({"verdict": "Clearly incorrect"}, True),
        ({"verdict": "correct"}, False),
        ({"verdict": "not wrong"}, None),
        ({"verdict": True}, None),
        ({"claim": "5 ms: wrong"}, None),
        (5, None),
        (None, None),
    ],
)
def test_a_verdict_on_a_figure_is_read_where_the_rule_says(claim: object, wrong: bool | None) -> None:
    assert claim_is_wrong(claim) is wrong


def test_one_wrong_figure_caps_correctness_and_keeps_what_was_judged() -> None:
    reading = read(reply(numeric_claims=["5: correct", "6: wrong", "7"]))
    assert reading.dimensions == {"correctness": 40.0, "completeness": 80.0}
    assert reading.caps == {"correctness": {"judged": 90.0, "rule": "wrong_figure"}}
    assert reading.unread_claims == (2,)


def test_a_correctness_at_or_below_the_cap_is_left_alone() -> None:
    reading = read(reply(correctness=40, numeric_claims=["6: wrong"]))
    assert (reading.dimensions["correctness"], reading.caps) == (40.0, {})


def test_only_right_figures_cap_nothing() -> None:
    assert read(reply(numeric_claims=["6: correct"])).caps == {}


@pytest.mark.parametrize(("claims", "are_list"), [(None, True), ([], True), ("6: wrong", False), ({"a": "wrong"}, False)])
def test_claims_that_are_no_list_are_not_read_and_said_so(claims: object, are_list: bool) -> None:
    reading = read(reply(numeric_claims=claims))
    assert (reading.caps, reading.claims_are_list) == ({}, are_list)


def test_points_number_knows_no_bool() -> None:
    assert points_number(True) is None
    assert points_number(1) == 1.0
