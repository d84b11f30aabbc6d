"""What the report of a tried judge says in words."""

from datetime import UTC, datetime

from evalplatform.comparisons.judge_validity import judge_validity
from evalplatform.comparisons.judge_validity_records import Condition, JudgeValidity, Probe, ProbedPair, TriedJudge
from evalplatform.reports.judge_validity_report import CAVEAT, judge_validity_lines, judge_validity_page, verdict_sentence
from evalplatform.reports.page import page_html, page_markdown

TRUNCATE = Probe(name="truncate", what="the end is left out", is_worse=True, lack="too_short", lacking=3)
PADDING = Probe(name="padding", what="filler is appended", is_worse=False, lack="empty")
TRIED = TriedJudge(
    project="p",
    suite="s",
    cell_key="c-123456",
    cell_label="m|h|none",
    judge_id="j",
    judge_key="j-123456",
    judge_kind="rubric",
    judge_model="grader",
    judges_itself=False,
    answers_version="0" * 16,
    tried_at=datetime(2025, 1, 2, 3, 4, tzinfo=UTC),
)


def pairs(drops: list[float], *, probe: Probe = TRUNCATE, condition: Condition = "with", intact: float = 80.0) -> list[ProbedPair]:
    return [
        ProbedPair(
            question_id=f"q{number}",
            arm="docs|a",
            draw=0,
            probe=probe.name,
            condition=condition,
            change=f'"{number}" became <b>',
            intact_points=intact,
            degraded_points=intact - drop,
            intact_chars=10,
            degraded_chars=5,
        )
        for number, drop in enumerate(drops)
    ]


def validity(found: list[ProbedPair], *, conditions: tuple[Condition, ...] = ("with",), with_material: int = 20) -> JudgeValidity:
    probes = [probe for probe in (TRUNCATE, PADDING) if any(pair.probe == probe.name for pair in found)]
    return judge_validity(
        found, probes=probes, conditions=conditions, intact_answers=20, with_material=with_material, min_accuracy_rate=0.8
    )


def texts(found: list[ProbedPair], **settings: object) -> tuple[str, str]:
    of = validity(found, **settings)  # type: ignore[arg-type]
    return page_markdown(judge_validity_page(TRIED, of, found)), "\n".join(judge_validity_lines(TRIED, of))


def test_each_degradation_is_said_with_its_accuracy_and_interval_and_what_could_not_be_degraded() -> None:
    markdown, lines = texts(pairs([10.0] * 20))
    assert "truncate is noticed: accuracy 100.0% [83.9%, 100.0%] of 20 pairs, length alone 100.0%, mean drop +10.0" in lines
    assert "| truncate | passed | 20 | 100.0% | [83.9%, 100.0%] | 20/0/0 | 0 | 100.0% |" in markdown
    assert "3 (too_short)" in markdown


def test_the_caveat_stands_in_every_page_and_beside_both_conditions() -> None:
    alone, alone_lines = texts(pairs([10.0] * 20))
    both, both_lines = texts(pairs([10.0] * 20) + pairs([10.0] * 20, condition="without", intact=70.0), conditions=("with", "without"))
    assert CAVEAT in alone
    assert CAVEAT in both
    assert CAVEAT in both_lines
    assert CAVEAT not in alone_lines
    assert "material changes the points of intact answers by +10.0 [+10.0, +10.0]" in both_lines
    assert "The judge was tried in one condition: judged with the treatment material." in alone


def test_a_judge_that_rewards_length_is_told_so() -> None:
    _, lines = texts(pairs([-5.0] * 12, probe=PADDING))
    assert "padding raises the points: the judge rewards length" in lines


def test_the_pair_where_the_judge_saw_least_is_shown_with_what_was_done() -> None:
    markdown, _ = texts(pairs([30.0, 20.0, -4.0, 10.0, 30.0, 30.0]))
    (row,) = [line for line in markdown.splitlines() if line.startswith("| truncate | q2 |")]
    assert row.endswith("| 80.0 | 84.0 |")


def test_what_is_odd_about_the_run_is_said_before_any_number() -> None:
    found = pairs([10.0] * 20) + pairs([10.0] * 20, condition="without")
    of = validity(found, conditions=("with", "without"), with_material=0)
    odd = TRIED.with_changes(judges_itself=True, stopped_message="the spend cap is reached.")
    notices = [notice.text for notice in judge_validity_page(odd, of, found).notices]
    assert "The run was stopped before everything was graded: the spend cap is reached." in notices
    assert "The judge is the model that answered; a model may be blind to its own mistakes." in notices
    assert "None of the answers had material, so that both conditions asked the judge the same." in notices
    assert verdict_sentence(odd, of) == "Whether the judge ranks intact answers above degraded ones could not be found out."
    assert verdict_sentence(TRIED, of) == "The judge ranks intact answers above degraded ones."


def test_intact_answers_below_which_nothing_ranks_are_counted() -> None:
    markdown, lines = texts(
        pairs([10.0] * 15) + [pair.with_changes(question_id=f"z{pair.question_id}") for pair in pairs([0.0] * 5, intact=0.0)]
    )
    assert "5 intact answers at 0 points, below which nothing ranks" in lines
    assert "| 15/5/0 | 5 |" in markdown


def test_a_condition_that_does_not_decide_is_neither_green_nor_red() -> None:
    found = pairs([10.0] * 20) + pairs([0.0] * 19 + [1.0], condition="without")
    page = judge_validity_page(TRIED, validity(found, conditions=("with", "without")), found)
    tones = {section.title: section.table.rows[0][1].tone for section in page.sections if section.table and "treatment" in section.title}
    assert tones == {"With the treatment material": "better", "Without the treatment material": "muted"}
    assert "Green passed and red failed, judged with the treatment material" in page.figures[0].caption


def test_texts_of_answers_are_escaped_in_the_page() -> None:
    found = pairs([10.0] * 6)
    html = page_html(judge_validity_page(TRIED, validity(found), found))
    assert "became &lt;b&gt;" in html
    assert "became <b>" not in html


def test_the_drops_are_drawn_where_there_are_any() -> None:
    found = pairs([10.0] * 6)
    (figure,) = judge_validity_page(TRIED, validity(found), found).figures
    assert "truncate (with) +10.0 [+10.0, +10.0]" in figure.plot.alt
    one = pairs([10.0])
    assert judge_validity_page(TRIED, validity(one), one).figures == ()
