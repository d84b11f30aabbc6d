"""The readable text of an HTML page, by the standard library's tolerant parser."""

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "title"})
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section"
    "|table|td|th|tr|ul"
)


def strip_html(page: str) -> str:
    """Return the page's text, blocks on lines of their own, entities as characters; comments, scripts, styles and the title are left out.

    Broken markup never raises. Runs of spaces become one space (also in `<pre>`), and runs of blank lines one blank line.
    """
    collector = _TextCollector()
    collector.feed(page)
    collector.close()
    lines = (re.sub(r"[ \t\r\f\v\xa0]+", " ", line).strip() for line in "".join(collector.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _TextCollector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        elif _BLOCKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _BLOCKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
        elif _BLOCKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)
