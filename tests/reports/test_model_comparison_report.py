"""The report of models beside each other, in Markdown, HTML and JSON."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison
from evalplatform.comparisons.refusals import Refused
from evalplatform.reports.model_comparison_report import model_comparison_json, model_comparison_page
from evalplatform.reports.page import Page, page_html, page_markdown
from tests.support.model_runs import BETTER, TWO_ARMS, Points, cost_block, model_run
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
LEVELS = ["easy", "easy", "easy", "hard", "hard", "own", None, 2]
HOLES: Points = {**TWO_ARMS, "docs": [*TWO_ARMS["docs"][:6], None, 40.0]}
PARTLY_PRICED = {"baseline": cost_block(8, priced=6), "docs": cost_block(8, cost_usd=None, priced=0)}


def named(points: Points, arm: str) -> Points:
    return {"baseline": points["baseline"], arm: points["docs"]}


def regular() -> ModelComparison | Refused:
    runs = [
        model_run("small-run1", HOLES, model="small", difficulty=LEVELS, question_set_hash="aaaa"),
        model_run("small-run2", TWO_ARMS, model="small", difficulty=LEVELS, question_set_hash="aaaa", cost_summary=PARTLY_PRICED),
        model_run("large", BETTER, difficulty=LEVELS, question_set_hash="bbbb"),
        model_run("bare", {"baseline": TWO_ARMS["baseline"]}, question_set_hash="aaaa"),
    ]
    return compare_models(runs, pool_replicates=True)


def markdown(*runs: ComparedRun, **options: Any) -> str:
    return page_markdown(model_comparison_page({"regular": compare_models(runs, **options)}))


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, flags=re.MULTILINE)


def test_the_report_reads_as_its_snapshot() -> None:
    golden = compare_models([model_run("small-run1"), model_run("large", BETTER)])
    text = page_markdown(model_comparison_page({"regular": regular(), "golden": golden}))
    assert_snapshot(SNAPSHOTS / "model_comparison.md", text)


def test_sections_stand_in_the_order_of_the_format_and_name_the_scored_arm() -> None:
    arm = "profile:concise_expert"
    runs = [model_run(name, named(points, arm), difficulty=LEVELS) for name, points in (("a", TWO_ARMS), ("b", BETTER))]
    text = markdown(*runs)
    assert text.startswith("# Model comparison of profile:concise_expert\n")
    assert headings(text) == [
        "Models Compared",
        "Resource Usage (baseline arm)",
        f"Resource Usage ({arm} arm)",
        "Overall Summary",
        f"Significance of the delta of {arm}",
        "By Difficulty",
        f"Head-to-Head ({arm})",
        f"Head-to-Head differences ({arm})",
        f"Benefit of {arm}",
        f"Ranking by points of {arm}",
        f"Ranking by what {arm} adds",
        "What was compared",
    ]
    assert "context arm" not in text.lower()


def test_a_treatment_arm_column_says_which_arm_each_run_was_scored_on() -> None:
    text = markdown(model_run("a"), model_run("b", {"baseline": TWO_ARMS["baseline"]}))
    assert "| a | a-model | openai | arms-runner | none | grader (anthropic) | docs | 8 | 8 | 0 |" in text
    assert "| b | b-model | openai | arms-runner | none | grader (anthropic) | — (baseline only) | 8 | 0 | 8 |" in text


def test_runs_without_a_scored_arm_have_no_table_of_deltas() -> None:
    text = markdown(*(model_run(name, {"baseline": TWO_ARMS["baseline"]}) for name in ("a", "b")))
    assert headings(text) == [
        "Models Compared",
        "Resource Usage (baseline arm)",
        "Overall Summary",
        "Ranking by points of baseline",
        "What was compared",
    ]


def test_a_partly_priced_cost_says_how_many_answers_it_is_of() -> None:
    assert "| a | 0.0100 (6/8) | 80 | 16 | 96 | 1.50 s | — |" in markdown(model_run("a", cost_summary=PARTLY_PRICED))


def test_a_refused_section_says_every_reason_and_has_no_numbers() -> None:
    refused = compare_models([model_run("a"), model_run("b", library_name="Teapot", judge_context=None)])
    page = model_comparison_page({"golden": refused})
    assert [(notice.level, notice.text.split(":")[0]) for notice in page.notices] == [
        ("problem", "The runs differ in judge material (judge_context)"),
        ("problem", "The runs differ in library"),
    ]
    assert (page.sections, page.findings, page.figures) == ((), (), ())
    both = model_comparison_page({"regular": compare_models([model_run("a")]), "golden": refused})
    assert both.notices[-1].text.startswith("Golden: The runs differ in library")
    assert {section.title.split(":")[0] for section in both.sections} == {"Regular"}


def test_the_html_page_has_a_forest_plot_and_escapes_what_others_wrote() -> None:
    bad = "<script>alert(1)</script>"
    html = page_html(model_comparison_page({"regular": compare_models([model_run(bad), model_run("b", BETTER)])}))
    assert bad not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "What docs adds, by run" in html
    assert "<svg" in html
    anchors = re.findall(r' id="([^"]+)"', html)
    assert len(anchors) == len(set(anchors))


def test_cost_stands_against_score_where_prices_are_known() -> None:
    def titles(*runs: ComparedRun) -> list[str]:
        return [figure.title for figure in model_comparison_page({"regular": compare_models(runs)}).figures]

    dear = {arm: cost_block(8, cost_usd=0.5) for arm in ("baseline", "docs")}
    assert titles(model_run("a"), model_run("b", cost_summary=dear)) == ["What docs adds, by run", "Cost against score"]
    assert titles(model_run("a", cost_summary={}), model_run("b", cost_summary={})) == ["What docs adds, by run"]


def test_a_significant_delta_is_shown_as_better_or_worse() -> None:
    lower = {"baseline": TWO_ARMS["docs"], "docs": TWO_ARMS["baseline"]}
    page = model_comparison_page({"regular": compare_models([model_run("a"), model_run("b", lower)])})
    assert [(finding.sentence, finding.tone) for finding in page.findings] == [
        ("a, docs against baseline: higher", "better"),
        ("b, docs against baseline: lower", "worse"),
    ]


def test_json_holds_the_unrounded_numbers_or_the_refusals() -> None:
    found = regular()
    assert isinstance(found, ModelComparison)
    refused = compare_models([model_run("a"), model_run("b", library_name="Teapot")])
    data = json.loads(model_comparison_json({"regular": found, "golden": refused}))
    assert ModelComparison.model_validate_json(json.dumps(data["regular"])) == found
    assert data["regular"]["runs"][0]["delta"]["effect"]["p_t"] == pytest.approx(found.runs[0].delta.effect.p_t, rel=0)  # type: ignore[union-attr]
    assert data["golden"]["refusals"][0] == {
        "reason": "factor_differs",
        "factor": "library_name",
        "words": "library",
        "sides": [{"run": "a", "says": "Kettle"}, {"run": "b", "says": "Teapot"}],
    }


def test_a_run_with_too_few_points_is_a_problem_and_stands_below_the_rankings() -> None:
    few: Points = {**TWO_ARMS, "docs": [100.0, *[None] * 7]}
    page = model_comparison_page({"regular": compare_models([model_run("a"), model_run("few", few)])})
    assert (page.notices[0].level, page.notices[0].text) == (
        "problem",
        (
            "few has points in baseline and docs for 1 of 8 questions (12.5%), and at least 95% are needed: it is not ranked, and the "
            "comparison is not an answer."
        ),
    )
    text = page_markdown(page)
    assert text.count("- Not ranked: few (1 of 8 questions have points in baseline and docs).") == 2
    assert "| 1 | few |" not in text


def test_a_report_of_runs_that_nobody_judged_says_so() -> None:
    unjudged: dict[str, Any] = {"evaluations": None, "judge_model": None, "judge_provider": None, "judge_context": None}
    page = model_comparison_page({"regular": compare_models([model_run("a", **unjudged)])})
    assert ("problem", "Nobody judged these runs: there are costs to see, and nothing is compared.") in [
        (notice.level, notice.text) for notice in page.notices
    ]


def test_one_run_id_for_two_models_is_said_above_both_sections() -> None:
    page = model_comparison_page({"regular": compare_models([model_run("a")]), "golden": compare_models([model_run("a", model="other")])})
    assert page.notices[0].text.startswith("The run id a does not stand for the same in every section: regular: a-model, openai")


def two_arms_page() -> Page:
    """Return the page of two arms' comparisons, each its own section, as a suite's cells are compared."""
    arms = ("skill:use-kettle", "docs")
    points = {"baseline": TWO_ARMS["baseline"], arms[0]: BETTER["docs"], arms[1]: TWO_ARMS["docs"]}
    runs = [model_run(name, points) for name in ("a", "b")]
    return model_comparison_page({arm: compare_models(runs, treatment_arm=arm) for arm in arms})


def test_sections_of_arms_are_called_by_the_arms_own_names_and_linked_by_what_they_are() -> None:
    page = two_arms_page()
    assert page.sections[0].title == "skill:use-kettle: Models Compared"
    assert {section.nav_group for section in page.sections} == {"skill:use-kettle", "docs"}
    assert [section.nav_label for section in page.sections if section.nav_group == "docs"] == [
        "Models Compared",
        "Resource Usage (baseline arm)",
        "Resource Usage (docs arm)",
        "Overall Summary",
        "Significance",
        "Head-to-Head",
        "Head-to-Head differences",
        "Benefit",
        "Ranking by points",
        "Ranking by delta",
    ]


def test_parts_are_said_to_be_families_of_their_own() -> None:
    assert page_markdown(two_arms_page()).count("skill:use-kettle and docs are families of their own") == 1
    assert "families of their own" not in markdown(model_run("a"), model_run("b"))


def test_what_all_parts_share_is_said_once_above_and_each_run_once_below() -> None:
    page = two_arms_page()
    assert [fact.label for fact in page.headline_facts] == ["Scored arms", "Baseline arm", "Runs", "Common questions", "Judge"]
    assert page.headline_facts[0].value == "skill:use-kettle and docs"
    assert [fact.label for fact in page.facts] == ["a", "b"]


def test_a_run_can_be_traced_to_its_file_model_settings_judge_and_questions() -> None:
    run = model_run(
        "a",
        base_url="http://127.0.0.1:1/v1",
        run_config={"temperature": 0.5, "max_tokens": 800, "seed": 7},
        question_set_hash="aaaa",
        plugin_set="caveman:full",
        generated_at="2026-11-30T17:00:00Z",
    )
    (fact,) = model_comparison_page({"regular": compare_models([run])}).facts
    for told in (
        "read from a.json",
        "generated 2026-11-30T17:00:00Z",
        "model a-model (openai)",
        "endpoint http://127.0.0.1:1/v1",
        "temperature 0.5",
        "max_tokens 800",
        "seed 7",
        "plugin set caveman:full (sha256:",
        "8 questions, 1 draw each",
        "question set aaaa",
        "judge grader (anthropic)",
        "judge prompt sha256:000",
    ):
        assert told in fact.value
    assert "endpoint not stated" in model_comparison_page({"regular": compare_models([model_run("b")])}).facts[0].value


def test_runs_of_other_files_in_each_section_are_told_apart() -> None:
    regular, golden = (compare_models([model_run("a", question_set_hash=digest)]) for digest in ("aaaa", "bbbb"))
    page = model_comparison_page({"regular": regular, "golden": golden})
    assert [fact.label for fact in page.facts] == ["Regular: a", "Golden: a"]


def test_what_the_scored_arm_cost_has_a_table_of_its_own() -> None:
    text = markdown(model_run("a", cost_summary={"baseline": cost_block(8), "docs": cost_block(8, cost_usd=2.5)}))
    assert "| a | 2.50 |" in text[text.index("## Resource Usage (docs arm)") : text.index("## Overall Summary")]


def test_intervals_are_said_to_be_uncorrected_beside_corrected_verdicts() -> None:
    text = markdown(model_run("a", difficulty=LEVELS), model_run("b", BETTER, difficulty=LEVELS))
    assert "corrected (Holm) over the deltas of 2 tested runs, so an interval can leave 0 out where nothing is significant." in text
    assert "corrected (Holm) over 1 tested pair for the points and over 1 tested pair for the deltas." in text
    assert "Nothing here is tested or corrected" in text


def test_means_and_ranks_stand_beside_their_intervals() -> None:
    text = markdown(model_run("a"), model_run("b", BETTER))
    assert "| a | 8 | 67.0 [62.9, 71.1] | 53.5 [51.5, 55.5] | +13.5 |" in text
    assert "| 1 | b | 68.5 [" not in text
    assert re.search(r"\| 1 \| b \| 68\.5 \| \[62\.4, 74\.6\] \|", text)


def test_arms_that_have_no_price_are_named_under_the_plot() -> None:
    dear = {"baseline": cost_block(8, cost_usd=0.5), "docs": cost_block(8, cost_usd=None, priced=0)}
    page = model_comparison_page({"regular": compare_models([model_run("a"), model_run("b", cost_summary=dear)])})
    assert page.figures[-1].caption.endswith("Without points or a known price, and so not drawn: b, docs.")
