"""The report page in a real browser, from a file, without a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from evalplatform.reports.html import Download, arms_html
from tests.support.arms_fixture import arms_run
from tests.support.browser import running_chromium

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = {"q0002": "\u202eabc\x00 <script>document.title = 'run'</script>", "q0004": "long " * 2000, "q0005": "x" * 1048576}
    report = arms_run(texts=texts).report()
    file = tmp_path_factory.mktemp("report") / "arms.html"
    file.write_text(arms_html(report, downloads=[Download(label="arms.v1", file_name="arms.json")]), encoding="utf-8")
    return file


class Visit:
    """A page that was opened, with every request and console message it caused."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.messages: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.goto(file.as_uri())


@pytest.fixture(params=[1280, 390])
def visit(request: pytest.FixtureRequest, browser: Browser, page_file: Path) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    yield Visit(page, page_file)
    page.close()


def test_the_page_asks_for_nothing_but_itself_and_breaks_no_policy(visit: Visit, page_file: Path) -> None:
    assert visit.requests == [page_file.as_uri()]
    assert visit.messages == []
    assert visit.page.title() == "Object Storage: 4 arms against baseline"


def test_the_page_does_not_scroll_sideways(visit: Visit) -> None:
    visit.page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_both_plots_are_seen_in_the_width_that_fits(visit: Visit) -> None:
    seen = visit.page.locator(".plot:visible")
    assert seen.count() == 2
    for position in range(2):
        box = seen.nth(position).bounding_box()
        assert box is not None
        assert box["height"] > 150
    # Text of a plot is never smaller than what one can read.
    heights = visit.page.evaluate(
        "[...document.querySelectorAll('.plot text')].map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
    )
    assert min(heights) >= 11


def test_a_question_opens_to_every_arms_answer(visit: Visit) -> None:
    question = visit.page.locator(".question").nth(4)
    answers = question.locator(".answer")
    assert not answers.first.is_visible()
    question.locator("> summary").click()
    assert answers.count() == 5
    assert answers.nth(4).is_visible()
    rest = answers.first.locator(".rest .text")
    assert not rest.is_visible()
    answers.first.locator(".rest > summary").click()
    assert rest.is_visible()


def test_a_link_in_the_table_opens_its_question(visit: Visit) -> None:
    visit.page.locator("#questions tbody a").nth(3).click()
    assert visit.page.locator("#question-4").is_visible()


def test_hidden_characters_are_seen_and_scripts_are_text(visit: Visit) -> None:
    visit.page.locator(".question").nth(2).locator("> summary").click()
    answer = visit.page.locator(".question").nth(2).locator(".answer .text").first
    assert answer.inner_text() == "U+202EabcU+0000 <script>document.title = 'run'</script>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(browser: Browser, page_file: Path, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    # WCAG 2.2, 1.4.3: at least 4.5 to 1 for every colour that text is set in, on the surfaces it is set on.
    ratios = page.evaluate(
        """() => {
          const read = name => {
            const probe = document.createElement('div');
            probe.className = 'probe'; document.body.append(probe);
            const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim(); probe.remove();
            const hex = value.length === 4 ? value.slice(1).split('').map(c => c + c).join('') : value.slice(1);
            return [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16) / 255);
          };
          const light = name => {
            const [r, g, b] = read(name).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const pairs = ['ink', 'muted', 'accent', 'better', 'worse', 'caution'].flatMap(ink => ['paper', 'card'].map(on => [ink, on]))
            .concat([['problem', 'problem-tint'], ['caution', 'caution-tint'], ['accent', 'note-tint'], ['token-ink', 'token']]);
          return Object.fromEntries(pairs.map(([ink, on]) => {
            const [a, b] = [light('--' + ink), light('--' + on)].sort((x, y) => y - x);
            return [ink + ' on ' + on, (a + 0.05) / (b + 0.05)];
          }));
        }"""
    )
    page.close()
    assert len(ratios) == 16
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}
