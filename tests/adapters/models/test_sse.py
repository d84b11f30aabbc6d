from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.models.sse import SseDecoder

STREAM = b': ping\r\n\r\nevent: delta\r\ndata: {"a": 1}\r\n\r\ndata:two\ndata: lines\n\nid: 7\n\ndata: [DONE]'
PAYLOADS = [b'{"a": 1}', b"two\nlines", b"[DONE]"]


def _decoded(chunks: list[bytes]) -> list[bytes]:
    decoder = SseDecoder()
    return [payload for chunk in chunks for payload in decoder.feed(chunk)] + decoder.close()


@given(st.lists(st.integers(0, len(STREAM)), max_size=10))
def test_events_are_the_same_wherever_the_network_cuts_the_stream(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(edges)]
    assert _decoded(chunks) == PAYLOADS


def test_a_stream_of_comments_holds_no_event() -> None:
    assert _decoded([b": one\n\n", b": two\n\n"]) == []
