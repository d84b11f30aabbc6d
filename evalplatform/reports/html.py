"""Reports as one HTML file each: it opens offline, makes no request and runs no script. A strict policy in the page says so to the browser.

Every value goes through Jinja's escaping; texts that users or models wrote go through `visible_text` as well.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.reports.arms_view import ArmsReport
from evalplatform.reports.plots import delta_plot, score_plot
from evalplatform.reports.visible import HIDDEN, control_token

PREVIEW_CHARS = 700
PAGE_TEXT_LIMIT_CHARS = 100_000
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Download(Value):
    """A file that lies beside the page: what the link says, and the file's name."""

    label: str
    file_name: str


class LongText(NamedTuple):
    """A text as the page holds it: `head` is shown, `rest` on demand, `beyond_chars` are not on the page."""

    head: str
    rest: str
    beyond_chars: int


def write_arms_html(report: ArmsReport, out: TextIO, *, downloads: Sequence[Download] = ()) -> None:
    """Write the report as a page, piece by piece.

    Raises:
        InputError: a download whose file name is not a plain name of a file beside the page.
    """
    for piece in _pieces(report, downloads):
        out.write(piece)


def arms_html(report: ArmsReport, *, downloads: Sequence[Download] = ()) -> str:
    """Return the report as a page; see `write_arms_html`, which holds less of it in memory."""
    return "".join(_pieces(report, downloads))


def visible_text(text: str) -> Markup:
    """Return text as HTML, with every hidden control character as a marked token that names it."""
    parts, end = [], 0
    text = text.replace("\r\n", "\n")
    for match in HIDDEN.finditer(text):
        token = escape(control_token(match[0]).strip("⟨⟩"))
        parts += [escape(text[end : match.start()]), Markup('<span class="control" title="hidden character">{}</span>').format(token)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def long_text(text: str) -> LongText:
    """Return text cut for the page: about 700 characters at once, up to 100,000 on demand."""
    kept = text[:PAGE_TEXT_LIMIT_CHARS]
    if len(kept) <= PREVIEW_CHARS + 200:
        return LongText(kept, "", 0)
    # A cut at white space breaks neither a word nor a joined emoji, where there is white space.
    space = max(kept.rfind(" ", PREVIEW_CHARS - 200, PREVIEW_CHARS), kept.rfind("\n", PREVIEW_CHARS - 200, PREVIEW_CHARS))
    cut = space + 1 if space > 0 else PREVIEW_CHARS
    return LongText(kept[:cut], kept[cut:], len(text) - len(kept))


def _pieces(report: ArmsReport, downloads: Sequence[Download]) -> Iterator[str]:
    check_downloads(downloads)
    style = page_style()
    page = (
        page_environment()
        .get_template("arms_report.html.j2")
        .generate(
            report=report,
            downloads=downloads,
            style=Markup(style),  # our own file, no user text
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            score_plot=score_plot(report.score_plot),
            delta_plot=delta_plot(report.delta_plot),
        )
    )
    yield from page


def check_downloads(downloads: Sequence[Download]) -> None:
    """Raise InputError where a download's file name is not a plain name of a file beside the page."""
    for download in downloads:
        if not FILE_NAME.fullmatch(download.file_name):
            raise InputError(f"{download.file_name!r} is not the plain name of a file beside the page.", field="downloads")


def with_files_named(page: bytes, names: Mapping[str, str]) -> bytes:
    """Return a page for a folder where the files beside it have other names: its links to them are changed, and nothing else.

    Args:
        page: a page as it was written, in UTF-8.
        names: the name there of each file that the page links to.

    Raises:
        InputError: a name that is not the plain name of a file beside the page.
    """
    check_downloads([Download(label=name, file_name=new) for name, new in names.items()])
    for name, new in names.items():
        page = page.replace(f'<a href="{name}" download>'.encode(), f'<a href="{new}" download>'.encode())
    return page


@cache
def page_environment() -> Environment:
    """Return the environment of all pages' templates: everything is escaped, what is not given is an error."""
    environment = Environment(
        loader=PackageLoader("evalplatform.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible_text
    environment.filters["long"] = long_text
    # Vega escapes the names it draws; the rest of a plot is numbers and our own words.
    environment.filters["svg"] = Markup
    return environment


@cache
def page_style() -> str:
    """Return the style sheet of all pages."""
    source, _, _ = PackageLoader("evalplatform.reports").get_source(page_environment(), "report.css")
    return source
