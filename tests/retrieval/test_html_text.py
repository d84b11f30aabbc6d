import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.retrieval.html_text import strip_html


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>Guide</h1><p>alpha <b>beta</b></p>", "Guide\n\nalpha beta"),
        ("<html><head><title>T</title><style>p {}</style></head><body>x</body></html>", "x"),
        ("a<script>if (a < b) { alert('x') }</script>b", "ab"),
        ("<!-- hidden -->shown", "shown"),
        ("a &lt; b &amp; c&nbsp;d &#233;", "a < b & c d é"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a\n\nb"),
        ("<p>open <b>never closed", "open never closed"),
        ("</div>stray", "stray"),
        ("a < b and plain", "a < b and plain"),
        ("<svg><text>drawn</text></svg>after", "after"),
        ("<head><meta charset=utf-8><p>no closing head", "no closing head"),
        ("  many \t blanks\n\n\n\nand lines ", "many blanks\n\nand lines"),
        ("", ""),
    ],
)
def test_the_readable_text_is_kept(page, text):
    assert strip_html(page) == text


@given(st.text(alphabet="<>/!-&;=\"' abpscriptsvg\n", max_size=60))
def test_no_markup_makes_it_fail(page):
    assert strip_html(page) == strip_html(page).strip()
