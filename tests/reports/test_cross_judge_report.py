"""The report of a cross-judging, as a reader sees it."""

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evalplatform.comparisons.cross_judge import cross_judge
from evalplatform.comparisons.cross_judge_records import ArmLabel, CrossJudgement, RunUnderJudges
from evalplatform.comparisons.refusals import FactorDiffers, RunSays
from evalplatform.reports.cross_judge_lines import cross_judge_lines, odd_measure_lines
from evalplatform.reports.cross_judge_points import points_csv
from evalplatform.reports.cross_judge_report import cross_judge_page
from evalplatform.reports.cross_judge_words import label_words
from evalplatform.reports.page import page_html, page_markdown
from tests.support.judged_runs import measure, run_under, shifted
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
UNSTAMPED = FactorDiffers(
    factor="judge_context",
    words="judge material (judge_context)",
    sides=(RunSays(run="haiku", says=None), RunSays(run="judging it again now", says="treatment_material.v1")),
)


def run(name: str = "haiku", *, questions: int = 12) -> RunUnderJudges:
    up = [5.0, 6.5, -2.0, 8.0, 5.0, 6.0, 7.0, 8.0, 5.0, 6.0, 4.0, 9.0]
    mixed = [5.0, -6.5, 2.0, 8.0, -5.0, 6.0, -7.0, 8.0, 5.0, -6.0, 4.0, None]
    measures = [
        measure("strict", {**shifted(up), "skill:x": [50.0 - delta for delta in up]}),
        measure("lax", {**shifted(mixed, level=70.0), "skill:x": [70.0 - (delta or 0.0) for delta in mixed]}),
        measure("old-model (stored)", {**shifted(up), "skill:x": [50.0] * 12}, stored=True, left_out=[UNSTAMPED]),
    ]
    of = run_under(*measures, questions=questions, arms=("baseline", "docs", "skill:x"), pass_points=60.0)
    return of.with_changes(name=name)


def result(*runs: RunUnderJudges) -> CrossJudgement:
    return CrossJudgement(judges=("strict", "lax"), runs=tuple(cross_judge(one) for one in runs))


def test_the_markdown_report_says_it_all() -> None:
    assert_snapshot(SNAPSHOTS / "cross_judge.md", page_markdown(cross_judge_page(result(run()))))


def test_the_terminal_says_labels_deltas_and_agreement() -> None:
    lines = list(cross_judge_lines(result(run())))
    assert lines[:5] == [
        "haiku: 12 questions, 2 measures",
        "  docs: CONSISTENT + (one judge)",
        "    strict +5.6 [+3.8, +7.4], 11 won and 1 lost, p 0.0127 corrected",
        "    lax +1.2 [-2.9, +5.3], 7 won and 4 lost, p 0.5488 corrected",
        "    old-model (stored) +5.6 [+3.8, +7.4], 11 won and 1 lost, no say",
    ]
    assert any(line.startswith("  strict and lax on docs: 54.5% same direction, kappa ") for line in lines)
    assert [line.split(":")[0] for line in lines[-3:-1]] == [
        "  strict and lax on skill",
        "  Krippendorff's alpha of directions, skill",
    ]
    (left_out,) = odd_measure_lines(result(run()))
    assert left_out == (
        "old-model (stored) of haiku is not pooled with the others. The runs differ in judge material (judge_context): "
        "haiku says nothing of it; judging it again now says treatment_material.v1."
    )


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (ArmLabel(kind="consistent", direction="+"), "CONSISTENT +"),
        (ArmLabel(kind="consistent", direction="-", one_judge=True), "CONSISTENT − (one judge)"),
        (ArmLabel(kind="leaning", direction="-"), "LEANING −"),
        (ArmLabel(kind="judge_dependent"), "JUDGE-DEPENDENT"),
        (ArmLabel(kind="no_detectable_effect"), "NO DETECTABLE EFFECT"),
        (ArmLabel(kind="not_tested"), "NOT TESTED"),
    ],
)
def test_labels_are_spelt_as_the_format_says(label: ArmLabel, words: str) -> None:
    assert label_words(label) == words


def test_several_runs_share_tables_and_have_points_of_their_own() -> None:
    page = cross_judge_page(result(run(), run("opus")))
    assert [section.key for section in page.sections] == ["measures", "deltas", "agreement", "alpha", "questions-0", "questions-1"]
    assert page.sections[1].table.columns[0].label == "Run"
    assert {row[0].text for row in page.sections[1].table.rows} == {"haiku", "opus"}
    assert [found.sentence.split(":")[0] for found in page.findings] == ["haiku, docs", "haiku, skill", "opus, docs", "opus, skill"]
    assert [fact.label for fact in page.facts] == ["haiku", "opus"]


def test_what_has_no_number_is_said_of_its_run_where_there_are_several() -> None:
    alike = run_under(measure("a", shifted([5.0] * 6)), measure("b", shifted([5.0] * 6)), questions=6)
    page = cross_judge_page(result(alike, alike.with_changes(name="opus")))
    (note,) = [note for note in page.sections[2].notes if note.startswith("No kappa")]
    assert note.endswith("(a and b on haiku, docs; a and b on opus, docs).")


def test_a_long_run_shows_its_first_questions_and_says_where_the_others_are() -> None:
    column = [float(place % 7) for place in range(300)]
    long = run_under(measure("a", shifted(column)), measure("b", shifted(column)), questions=300)
    (section,) = [section for section in cross_judge_page(result(long)).sections if section.key == "questions-0"]
    assert len(section.table.rows) == 200
    assert section.notes == ("The first 100 questions; points.csv and cross_judge.json hold the other 200.",)
    assert len(list(csv.reader(io.StringIO(points_csv(result(long)))))) == 1 + 300 * 2 * 2


def test_the_csv_holds_every_point_unrounded_and_nothing_that_a_spreadsheet_runs() -> None:
    of = run_under(measure("a", {"baseline": [1 / 3], "docs": [None]}), questions=1).with_changes(question_texts={"q0": "=1+1"})
    rows = list(csv.DictReader(io.StringIO(points_csv(result(of)))))
    assert [(row["arm"], row["points"], row["question"]) for row in rows] == [("baseline", str(1 / 3), "'=1+1"), ("docs", "", "'=1+1")]


def test_a_judge_of_its_own_models_answers_is_named() -> None:
    of = run_under(measure("a", shifted([1.0] * 6), judge="haiku"), measure("b", shifted([1.0] * 6)), questions=6)
    texts = [notice.text for notice in cross_judge_page(result(of)).notices]
    assert texts == ["a grades answers of its own model, haiku, in haiku."]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)


def test_the_page_draws_each_arm_under_each_judge_and_runs_no_text_of_anyone() -> None:
    of = run().with_changes(question_texts={f"q{place}": "<script>alert(1)</script> | `x`" for place in range(12)})
    tags = Tags()
    html = page_html(cross_judge_page(result(of)))
    tags.feed(html)
    assert "script" not in tags.names
    assert tags.names.count("svg") == 2, "one plot, wide and narrow"
    assert html.count("docs: strict") >= 2


def test_clusters_are_said_where_they_are_counted() -> None:
    pages = {f"q{place}": str(place // 2) for place in range(12)}
    of = run().with_changes(clusters={"field": "page", "labels": pages})
    page = cross_judge_page(result(of))
    assert page.sections[1].notes == ("Questions are clustered by page: a cluster is won or lost by the sum of its deltas.",)
    assert any("questions are clustered" in note for note in page.sections[2].notes)
