import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.arms.payload import PAYLOAD_CAP_CHARS, capped_payload
from evalplatform.kernel.digests import text_digest


@pytest.mark.parametrize("chars", [1, PAYLOAD_CAP_CHARS - 1, PAYLOAD_CAP_CHARS])
def test_a_text_up_to_the_cap_is_sent_whole(chars):
    payload = capped_payload("x" * chars)
    assert (payload.text, payload.source_chars, payload.truncated) == ("x" * chars, chars, False)


def test_a_longer_text_is_cut_and_ends_in_a_line_with_an_ellipsis():
    payload = capped_payload("x" * (PAYLOAD_CAP_CHARS + 1))
    assert payload.text == "x" * PAYLOAD_CAP_CHARS + "\n…"
    assert (len(payload.text), payload.source_chars, payload.truncated) == (12_002, 12_001, True)


def test_a_cut_that_falls_on_blanks_is_trimmed_before_the_ellipsis():
    payload = capped_payload("x" * (PAYLOAD_CAP_CHARS - 3) + "   y")
    assert payload.text == "x" * (PAYLOAD_CAP_CHARS - 3) + "\n…"


def test_blanks_around_the_text_do_not_count_towards_the_cap():
    payload = capped_payload("\n\n" + "x" * PAYLOAD_CAP_CHARS + "\n \n")
    assert (len(payload.text), payload.source_chars, payload.truncated) == (PAYLOAD_CAP_CHARS, PAYLOAD_CAP_CHARS, False)


def test_the_digest_is_of_the_text_that_is_sent_with_its_line_endings():
    assert capped_payload(" a\nb ").digest == text_digest("a\nb")
    assert capped_payload("a\r\nb").digest == text_digest("a\r\nb") != capped_payload("a\nb").digest


@given(st.integers(min_value=0, max_value=3 * PAYLOAD_CAP_CHARS), st.sampled_from(["x", " x", "x\n"]))
def test_nothing_longer_than_the_cap_and_its_marker_is_ever_sent(repeats, unit):
    source = unit * repeats
    payload = capped_payload(source)
    assert len(payload.text) <= PAYLOAD_CAP_CHARS + 2
    assert payload.truncated == (len(source.strip()) > PAYLOAD_CAP_CHARS)
