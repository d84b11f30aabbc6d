"""Judge material is cut where the rule says; seeds are made from one number; text and usage keep unknown unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, text_digest
from evalplatform.kernel.material import INJECTED_LIMIT_CHARS, REFERENCE_LIMIT_CHARS, SEPARATOR, JudgeMaterial
from evalplatform.kernel.seeds import derived_seed, seed_for_draw
from evalplatform.kernel.text import clip, plural
from evalplatform.kernel.usage import Usage, known_sum, whole_sum


@pytest.mark.parametrize(
    ("injected", "reference", "text"),
    [
        ("", "", ""),
        ("a", "", "a"),
        ("", "b", "b"),
        ("a", "b", f"a{SEPARATOR}b"),
        ("a" * INJECTED_LIMIT_CHARS, "", "a" * INJECTED_LIMIT_CHARS),
        ("a" * (INJECTED_LIMIT_CHARS + 1), "", "a" * INJECTED_LIMIT_CHARS),
        ("", "b" * REFERENCE_LIMIT_CHARS, "b" * REFERENCE_LIMIT_CHARS),
        ("a", "b" * (REFERENCE_LIMIT_CHARS + 1), f"a{SEPARATOR}{'b' * REFERENCE_LIMIT_CHARS}…"),
    ],
)
def test_material_is_injected_text_then_reference_each_with_its_cut(injected: str, reference: str, text: str) -> None:
    material = JudgeMaterial(injected=injected, reference=reference)
    assert material.text == text
    assert material.digest == text_digest(text)


def test_the_limits_are_those_of_the_format() -> None:
    assert (INJECTED_LIMIT_CHARS, REFERENCE_LIMIT_CHARS) == (15_000, 20_000)


def test_nothing_shown_has_a_digest_too() -> None:
    assert JudgeMaterial().digest == EMPTY_TEXT_DIGEST


@given(st.text(), st.text())
def test_the_digest_is_that_of_the_stored_text(injected: str, reference: str) -> None:
    material = JudgeMaterial(injected=injected, reference=reference)
    assert material.digest == text_digest(material.text)


def test_draws_take_consecutive_seeds_and_no_seed_stays_none() -> None:
    assert [seed_for_draw(7, draw) for draw in range(3)] == [7, 8, 9]
    assert seed_for_draw(0, 2) == 2
    assert seed_for_draw(None, 2) is None


def test_a_derived_seed_depends_on_parts_their_types_and_their_order() -> None:
    seeds = [derived_seed(*parts) for parts in ((1,), ("1",), (1, 2), (2, 1), (12,), ("1", "2"), (True,), ())]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derived_seed("retry", "x", 1) == 9_179_745_018_191_900_151  # a change here changes every resampled number


def test_clip_keeps_what_fits_and_marks_what_does_not() -> None:
    assert (clip("abc", 3), clip("abcd", 3), clip("", 0)) == ("abc", "abc…", "")


def test_counts_are_said_in_words() -> None:
    assert (plural(0, "call"), plural(1, "call"), plural(1_000, "call")) == ("0 calls", "1 call", "1,000 calls")


def test_a_sum_of_unknowns_is_unknown_and_a_partial_one_is_the_sum_of_the_known() -> None:
    assert known_sum([None, None]) is None
    assert known_sum([]) is None
    assert known_sum([None, 0.25, 0.5]) == 0.75
    assert known_sum([0, None]) == 0
    assert whole_sum([0.25, 0.5]) == 0.75
    assert whole_sum([0.25, None]) is None
    assert whole_sum([]) is None


def test_total_tokens_are_known_only_when_both_parts_are() -> None:
    assert Usage(prompt_tokens=3, completion_tokens=4).total_tokens == 7
    assert Usage(prompt_tokens=3).total_tokens is None
    assert Usage().total_tokens is None


@pytest.mark.parametrize("tokens", [-1, float("nan"), 1.5])
def test_token_counts_are_whole_and_not_negative(tokens: float) -> None:
    with pytest.raises(ValidationError):
        Usage.model_validate({"prompt_tokens": tokens})


def test_a_value_is_frozen_closed_and_validated_when_changed() -> None:
    usage = Usage(prompt_tokens=1)
    with pytest.raises(ValidationError):
        usage.prompt_tokens = 2  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Usage.model_validate({"prompts": 1})
    with pytest.raises(ValidationError):
        usage.with_changes(prompt_tokens=-1)
    assert usage.with_changes(completion_tokens=2) == Usage(prompt_tokens=1, completion_tokens=2)
