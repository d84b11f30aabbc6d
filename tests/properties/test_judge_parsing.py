"""Whatever a judge replies, it is read within the scale or not at all."""

import json
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.judging.grading import grounded_weights, weighted_points
from evalplatform.judging.kinds.rubric import WEIGHTS
from evalplatform.judging.parsing import WRONG_FIGURE_CAP_POINTS, NotJsonError, RubricReply, claim_is_wrong, read_rubric_reply, reply_json
from evalplatform.judging.prompts import marked_section

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
GROUNDED_WEIGHTS = grounded_weights(WEIGHTS)
scores = st.floats(0, 100) | st.integers(0, 100)
replies = st.fixed_dictionaries({**dict.fromkeys(WEIGHTS, json_values | scores), "aggregate": json_values, "numeric_claims": json_values})


@settings(deadline=None)
@given(st.text(max_size=200) | st.text('`{}[]"a1:, \n', max_size=60))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    with suppress(NotJsonError):
        reply_json(text)
    reading = read_rubric_reply(text, dimensions=WEIGHTS)
    assert isinstance(reading, RubricReply) or reading.detail


@settings(deadline=None)
@given(replies)
def test_what_is_read_is_finite_and_within_the_scale(fields: dict[str, object]) -> None:
    reading = read_rubric_reply(json.dumps(fields), dimensions=WEIGHTS)
    if isinstance(reading, RubricReply):
        assert set(reading.dimensions) == set(WEIGHTS)
        assert all(0 <= points <= 100 for points in reading.dimensions.values())
        assert 0 <= weighted_points(reading.dimensions, WEIGHTS) <= 100


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.text("abc ,.\n", max_size=20), st.text("abc ,.\n", max_size=20))
def test_an_object_is_found_in_a_fence_and_in_prose(fields: dict[str, object], before: str, after: str) -> None:
    written = json.dumps(fields)
    expected = json.loads(written)
    assert repr(reply_json(f"{before}{written}{after}")) == repr(expected)
    if "```" not in written:
        assert repr(reply_json(f"{before}```json\n{written}\n```{after}")) == repr(expected)


@settings(deadline=None)
@given(st.lists(st.text(max_size=20) | st.sampled_from(["5: wrong", "6: correct", "?"]), max_size=5), st.floats(0, 100))
def test_a_wrong_figure_caps_correctness_and_never_raises_it(claims: list[str], correctness: float) -> None:
    fields = {**dict.fromkeys(WEIGHTS, 50), "correctness": correctness, "aggregate": 1, "numeric_claims": claims}
    reading = read_rubric_reply(json.dumps(fields), dimensions=WEIGHTS)
    assert isinstance(reading, RubricReply)
    verdicts = [claim_is_wrong(claim) for claim in claims]
    most = WRONG_FIGURE_CAP_POINTS if True in verdicts else 100
    assert reading.dimensions["correctness"] == min(correctness, most)
    assert bool(reading.caps) == (reading.dimensions["correctness"] < correctness)
    assert reading.unread_claims == tuple(index for index, verdict in enumerate(verdicts) if verdict is None)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(dict.fromkeys(GROUNDED_WEIGHTS, st.floats(0, 100))), st.sampled_from(sorted(GROUNDED_WEIGHTS)), st.floats(0, 100)
)
def test_a_better_dimension_never_lowers_the_points(dimensions: dict[str, float], name: str, better: float) -> None:
    raised = {**dimensions, name: max(dimensions[name], better)}
    assert weighted_points(raised, GROUNDED_WEIGHTS) >= weighted_points(dimensions, GROUNDED_WEIGHTS)


@settings(deadline=None)
@given(st.text(max_size=100))
def test_a_text_never_holds_the_mark_of_its_own_section(text: str) -> None:
    mark = marked_section("ANSWER", text).split("\n", 1)[0].rsplit(" ", 1)[1]
    assert mark not in text
