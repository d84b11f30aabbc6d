"""A batch comparison as one HTML page that opens offline and runs no script: its classes are filtered by the page's address."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache

from jinja2 import PackageLoader
from markupsafe import Markup

from evalplatform.reports.batch_comparison_view import BatchComparisonReport
from evalplatform.reports.html import Download, check_downloads, page_environment, page_style
from evalplatform.reports.page import LinkGroup, PartLink


def batch_comparison_html(report: BatchComparisonReport, *, downloads: Sequence[Download] = ()) -> str:
    """Return the report as a page. `PAGE#show-degraded` shows the rows of one class, so that a copied link restores the view.

    Raises:
        InputError: a download whose file name is not a plain name of a file beside the page.
    """
    check_downloads(downloads)
    links = (PartLink("changes", "Scenarios"), *(PartLink(passage.key, passage.title) for passage in report.passages))
    style = _style()
    return (
        page_environment()
        .get_template("batch_comparison.html.j2")
        .render(
            page=report.page,
            report=report,
            link_groups=[LinkGroup(None, links)],
            downloads=downloads,
            style=Markup(style),  # our own files, no user text
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


@cache
def _style() -> str:
    own, _, _ = PackageLoader("evalplatform.reports").get_source(page_environment(), "batch_comparison.css")
    return page_style() + own
