"""The page of two runs side by side: what stands on it, and in what order."""

import re

import pytest

from evalplatform.kernel.errors import InputError
from evalplatform.reports.html import Download
from evalplatform.reports.trajectory_diff_cards import indented_json
from evalplatform.reports.trajectory_diff_page import ComparedRun, trajectory_diff_html
from evalplatform.reports.view import Fact
from evalplatform.runs.records import Violation
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, Trajectory
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.trajectories import trajectory_of


def page(a: Trajectory, b: Trajectory, **more: object) -> str:
    runs = {
        "a": ComparedRun(name="trial 0", facts=(Fact(label="Verdict", value="passed"),), trajectory=a),
        "b": ComparedRun(name="trial 1", trajectory=b),
    }
    return trajectory_diff_html(**{"scenario_id": "refund-1", "diff": diff_trajectories(a, b), **runs, **more})  # type: ignore[arg-type]


def page_of(a: str, b: str) -> str:
    return page(trajectory_of(a), trajectory_of(b))


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html[html.index("<body") :]))


def rows(html: str) -> list[str]:
    return html.split('<div class="pair')[1:]


def test_the_change_list_leads_to_the_rows() -> None:
    html = page_of("user escalate agent", "user refund agent")
    assert '<li><a href="#row-2">steps 2-3 · escalate → refund</a></li>' in html
    assert "1 differing step. First divergence at step 2: escalate → refund." in words_of(html)
    assert [row.split('"')[0] for row in rows(html)] == [" same", " diverged", " same"]


def test_the_mark_sits_once_in_each_column_and_on_the_call() -> None:
    html = page_of("user agent escalate", "user refund")
    marked = re.findall(
        r'<article class="step (\w+)" id="([ab]-step-\d+)">\s*<h3>.*?Diverged here', re.sub(r"</h3>.*?</article>", "", html, flags=re.S)
    )
    assert html.count("Diverged here") == 2
    assert ("call", "b-step-2") in marked
    assert '<article class="step agent" id="a-step-2">' in html
    assert "Diverged here" in html[html.index('id="a-step-3"') : html.index('id="a-step-4"')]


def test_a_step_that_one_run_lacks_is_marked_in_both_columns() -> None:
    html = page_of("user escalate agent", "user agent")
    assert "No such step in B" in rows(html)[1]
    assert rows(html)[1].count("Diverged here") == 2


def test_the_fold_says_what_it_hides() -> None:
    html = page_of("user agent user agent user agent user escalate", "user agent user agent user agent user refund")
    fold = html[html.index('<details class="fold">') :]
    assert "Show 3 earlier steps Hide 3 earlier steps 1 user message among them. Same tool path in both runs." in words_of("<body" + fold)
    assert fold.index('id="row-2"') < fold.index("</details>") < fold.index('id="row-5"')


def test_the_split_stands_right_under_the_second_fold_and_the_message_that_led_to_it_right_above() -> None:
    start = "user agent user agent user agent user " + "lookup " * 60
    html = page_of(start + "escalate", start + "refund")
    assert html.count('<details class="fold">') == 2
    between, second = html[html.index("</details>", html.index('<details class="fold">')) :].split('<details class="fold">')
    assert re.findall(r'id="(row-\d+)"', between) == ["row-5", "row-6", "row-7"]
    assert "Show 120 earlier steps Hide 120 earlier steps Same tool path in both runs." in words_of("<body" + second)
    hidden, open_below = second.split("</details>", 1)
    assert re.findall(r'id="(row-\d+)"', hidden) == [f"row-{number}" for number in range(8, 68)]
    assert re.findall(r'class="pair([^"]*)" id="(row-\d+)"', open_below) == [(" diverged", "row-68")]


def test_a_fold_of_unequal_columns_counts_both() -> None:
    html = page_of("user agent lookup lookup lookup escalate", "user lookup lookup lookup refund")
    assert "Show 7 earlier steps of A and 6 of B" in words_of(html)


def test_runs_that_do_not_part_have_no_change_list_and_no_fold() -> None:
    html = page_of("user lookup lookup lookup lookup agent", "user lookup lookup lookup lookup agent")
    assert "No differing step. No divergence: both runs took the same steps." in words_of(html)
    assert '<details class="fold">' not in html
    assert "What differs" not in html


def test_a_run_without_file_state_is_said_to_be_unchecked() -> None:
    html = page_of("user files:a.txt", "user")
    assert "The files are unchecked: run B recorded no file state." in html
    assert "No file state recorded in B" in rows(html)[1]
    assert "modified a.txt" in html


def test_what_users_models_and_tools_wrote_is_text_and_what_it_hides_is_shown() -> None:
    evil = "<script>alert(1)</script>\u202e\x00"
    call = ToolCallStep(call_id="1", tool=f"t{evil}", arguments_text=f'{{"a": "{evil}"}}', text=evil)
    a = Trajectory(steps=(MessageStep(role="user", text=evil), call, ToolResultStep(call_id="1", tool="t", text=evil)))
    html = page(a, Trajectory(steps=()), scenario_id=evil)
    assert "<script" not in html
    assert "\u202e" not in html
    assert "\x00" not in html
    assert '<span class="control" title="hidden character">U+202E</span>' in html


def test_a_long_result_is_cut_and_opens_with_a_line_an_entry() -> None:
    result = ToolResultStep(call_id="1", tool="t", text='{"rows": [' + ", ".join('{"id": 1.0}' for _ in range(200)) + "]}")
    html = page(Trajectory(steps=(result,)), Trajectory(steps=()))
    assert f"Show all {len(result.text):,} characters" in words_of(html)
    assert "\n    {\n      &#34;id&#34;: 1.0\n    }," in html


def test_what_is_too_long_for_the_page_is_counted() -> None:
    html = page(Trajectory(steps=(MessageStep(role="user", text="x" * 150_000),)), Trajectory(steps=()))
    assert "50,000 more characters are in the recorded trajectory." in html


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ('{"a":1.50,"a":[],"b":{}}', '{\n  "a": 1.50,\n  "a": [],\n  "b": {}\n}'),
        ('[1,"x, {y}: \\"z"]', '[\n  1,\n  "x, {y}: \\"z"\n]'),
        ('{"a": ', '{"a": '),
        ("plain", "plain"),
        ('"text"', '"text"'),
        ("[NaN, -1e5]", "[\n  NaN,\n  -1e5\n]"),
    ],
)
def test_json_is_laid_out_without_changing_what_was_written(text: str, laid_out: str) -> None:
    assert indented_json(text) == laid_out


def test_thousands_of_rows_have_a_strip_of_those_that_differ() -> None:
    html = page_of("user " + "lookup " * 500 + "refund", "user " + "lookup " * 500 + "escalate")
    strip = html[html.index('<nav class="strip"') : html.index("</nav>", html.index('<nav class="strip"'))]
    assert 'aria-label="The rows that differ"' in strip
    assert re.findall(r'href="#(row-\d+)"', strip) == ["row-502"]


def test_the_page_links_back_to_the_comparison_and_to_its_files() -> None:
    a = trajectory_of("user")
    html = page(a, a, comparison_file="comparison.html", downloads=[Download(label="trajectory A", file_name="a.json")])
    assert '<a href="comparison.html">' in html
    assert '<a href="a.json" download>trajectory A</a>' in html
    assert '<a href="../comparison.html">' in page(a, a, comparison_file="../comparison.html")


@pytest.mark.parametrize("name", ["../../x.html", "/etc/x.html", "javascript:alert(1)", "a/b.html"])
def test_a_link_leads_to_no_other_place(name: str) -> None:
    a = trajectory_of("user")
    with pytest.raises(InputError):
        page(a, a, comparison_file=name)
    with pytest.raises(InputError):
        page(a, a, downloads=[Download(label="x", file_name=name)])


def test_a_step_that_one_run_breaches_a_policy_in_is_marked_and_never_shown_as_one_card_for_both() -> None:
    same = trajectory_of("user refund agent")
    other = ComparedRun(name="Candidate", trajectory=same, violations=(Violation(policy="No <SSN>", step=2),))
    runs = {"a": ComparedRun(name="Baseline", trajectory=same), "b": other}
    html = trajectory_diff_html(scenario_id="refund-1", diff=diff_trajectories(same, same), **runs)
    assert '<li>Only B breaches <b>No &lt;SSN&gt;</b>: <a href="#b-step-2">step 2</a></li>' in html
    assert [row.split('"')[0] for row in rows(html)] == [" same", "", " same"]
    assert 'Breaches "No &lt;SSN&gt;"' in html[html.index('id="b-step-2"') : html.index('id="b-step-3"')]
    assert html.count("Breaches ") == 1
