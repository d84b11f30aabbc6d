"""What every form of a batch comparison's report shows, worded and rounded; texts of users are as they were and each form escapes them."""

from evalplatform.comparisons.batches.records import ChangeClass, ComparisonVerdict
from evalplatform.kernel.values import Value
from evalplatform.reports.headline_words import Headline
from evalplatform.reports.page import Page
from evalplatform.reports.view import Figure, Table, Tone


class Filter(Value):
    """A change class that has rows: its key, which the address of the filtered view ends in, and its count."""

    key: ChangeClass
    label: str


class Item(Value):
    """What is said of one scenario: its name, which leads to `href` where that is given, and what follows it."""

    scenario_id: str
    text: str
    tone: Tone = "plain"
    href: str | None = None


class Passage(Value):
    """A titled list with sentences before it (`intro`) and after it (`notes`), and the figure that shows it."""

    key: str
    title: str
    intro: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    figure: Figure | None = None


class BatchComparisonReport(Value):
    """A comparison of two batches as a reader sees it.

    Attributes:
        page: title, verdict sentence (empty where the headline already says that nothing could be compared), both batches, notices; its
            sections and figures are empty.
        headline: the gate's answer, above all else.
        headline_href: the page of the diff where the first changed scenario's runs part; None without one.
        verdict: for colours; by the gate policy where one decides.
        counts: the line of counts below the verdict.
        filters: the classes of that line.
        caption: what the path tolerance classes mean; None where nothing is declared.
        table: one row a scenario that is not plainly unchanged, newly failing first.
        row_classes: the class of each row.
        lines: what stands below the table: tolerated paths, differing declarations, scenarios that are not listed.
        passages: violations, run sets, what one run can tell, what was not compared.
    """

    page: Page
    headline: Headline
    headline_href: str | None
    verdict: ComparisonVerdict
    counts: str
    filters: tuple[Filter, ...]
    caption: str | None
    table: Table
    row_classes: tuple[ChangeClass, ...]
    lines: tuple[str, ...]
    passages: tuple[Passage, ...]
