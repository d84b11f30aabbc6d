"""The quick path for ASCII text finds the tokens that the general rule finds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.judging.words import TokenText, tokens

ascii_texts = st.text(st.characters(max_codepoint=127), max_size=60) | st.text("a1.,_- \n", max_size=40)
CHINESE = "\u91cd"  # one character that is a token of its own and takes the whole text off the quick path


@settings(deadline=None)
@given(ascii_texts)
def test_ascii_text_has_the_same_tokens_on_both_paths(text: str) -> None:
    assert tokens(f"{text} {CHINESE}") == [*tokens(text), CHINESE]


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_text_states_every_passage_of_whole_words_in_it(before: str, passage: str, after: str) -> None:
    assert TokenText(f"{before} \n {passage} \n {after}").states(passage)
