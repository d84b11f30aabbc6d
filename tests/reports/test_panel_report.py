"""What reports and files show of a panel: every vote, how far the votes lie apart, and which have no points."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.panel_spread import panel_spreads
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.kinds.panel import panel_verdict
from evalplatform.judging.records import PanelVote
from evalplatform.reports.arms_report import build_arms_report
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import read_arms_v1, write_arms_v1
from evalplatform.reports.arms_view import ArmsReport
from evalplatform.reports.csv import write_scores_csv
from evalplatform.reports.html import arms_html
from evalplatform.reports.markdown import arms_markdown
from evalplatform.reports.run_facts import RunFacts
from tests.support.arm_rows import MATERIALS, answers_of, question_set, run_facts, score, timings_of
from tests.support.snapshots import assert_snapshot

ARMS = ("baseline", "docs")
ROLES = ("technical_expert", "doc_reviewer")
VOTES = {"baseline": [(60.0, 70.0), (50.0, None), (40.0, 44.0)], "docs": [(90.0, 60.0), (80.0, 80.0), (None, None)]}
TABLE = {arm: [0.0] * len(votes) for arm, votes in VOTES.items()}
QUESTIONS = question_set(3)
LOST = {"technical_expert": "judge_failed: timeout: no reply", "doc_reviewer": "malformed_reply"}


def facts(**changes: object) -> RunFacts:
    told = run_facts(ARMS)
    assert told.judge is not None
    return told.with_changes(judge=told.judge.with_changes(kind="panel", roles=ROLES), **changes)


def vote(role: str, points: float | None) -> PanelVote:
    if points is None:
        return PanelVote(role=role, reason=LOST[role])
    wrong = {"correctness": {"judged": 90.0, "rule": "wrong_figure"}} if points == 44.0 else {}
    return PanelVote(role=role, points=points, dimensions={"correctness": points}, caps=wrong, raw_reply=f'{{"aggregate": {points}}}')


def scores() -> list[JudgedScore]:
    rows = []
    for arm, of_arm in VOTES.items():
        for number, points in enumerate(of_arm):
            verdict = panel_verdict([vote(role, given) for role, given in zip(ROLES, points, strict=True)])
            valid = [given for given in points if given is not None]
            row = score(number, arm, sum(valid) / len(valid) if valid else None, reason=LOST["technical_expert"])
            caps = {given.role: given.caps for given in verdict.valid if given.caps}
            rows.append(row.with_changes(judgement=row.judgement.with_changes(panel=verdict, caps=caps, redraws=0)))
    return rows


def report(told: RunFacts | None = None) -> ArmsReport:
    summary = summarise_arms(
        arms=ARMS,
        baseline_arm="baseline",
        question_ids=[question.id for question in QUESTIONS.questions],
        answers=answers_of(TABLE),
        scores=scores(),
    )
    return build_arms_report(
        told or facts(), questions=QUESTIONS, answers=answers_of(TABLE), scores=scores(), timings=timings_of(TABLE), summary=summary
    )


def test_spread_and_agreement_are_means_over_the_answers_with_two_votes_or_more() -> None:
    # sample deviations: 7.0711 and 2.8284 (baseline), 21.2132 and 0 (docs); the other answers have one vote or none
    spreads = panel_spreads(scores(), arms=ARMS)
    assert [spreads[arm].mean_sd_points for arm in ARMS] == pytest.approx([(50**0.5 + 8**0.5) / 2, 450**0.5 / 2])
    assert [spreads[arm].mean_agreement for arm in ARMS] == pytest.approx([(0.859 + 0.943) / 2, (0.576 + 1.0) / 2])
    assert [(spreads[arm].answers, spreads[arm].compared, spreads[arm].flagged) for arm in ARMS] == [(3, 2, 0), (3, 2, 1)]
    assert spreads["docs"].lost_votes == {"doc_reviewer malformed_reply": 1, "technical_expert judge_failed": 1}
    assert panel_spreads([score(0, "docs", 50.0)], arms=ARMS) == {}


def test_the_report_reads_as_it_did() -> None:
    markdown = arms_markdown(report())
    start, end = markdown.index("## Judge panel"), markdown.index("## Cost & latency")
    questions = markdown.index("## Per-question scores")
    assert_snapshot(
        Path(__file__).parent / "snapshots" / "panel_sections.md",
        markdown[: markdown.index("## Summary")] + markdown[start:end] + markdown[questions : markdown.index("## What was run")],
    )


def test_the_page_shows_every_vote_and_every_reply() -> None:
    page = arms_html(report())
    for shown in ("Vote of technical_expert", "judge_failed: timeout: no reply", "21.2, agreement 0.576, flagged", "wrong_figure"):
        assert shown in page
    assert "doc_reviewer:\n{&#34;aggregate&#34;: 60.0}" in page


def test_a_judge_of_one_voice_has_no_panel_section_and_no_panel_column() -> None:
    plain = [score(number, arm, 50.0) for arm in ARMS for number in range(3)]
    summary = summarise_arms(
        arms=ARMS,
        baseline_arm="baseline",
        question_ids=[question.id for question in QUESTIONS.questions],
        answers=answers_of(TABLE),
        scores=plain,
    )
    shown = build_arms_report(
        run_facts(ARMS), questions=QUESTIONS, answers=answers_of(TABLE), scores=plain, timings=timings_of(TABLE), summary=summary
    )
    assert "panel" not in {section.key for section in shown.sections}
    assert [column.label for column in shown.question_scores.table.columns] == ["Id", "Question", *ARMS]


def test_the_csv_has_the_votes_beside_their_mean() -> None:
    out = io.StringIO(newline="")
    write_scores_csv(out, questions=QUESTIONS, arms=ARMS, draws=1, answers=answers_of(TABLE), scores=scores(), timings=timings_of(TABLE))
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    columns = ("points", "panel_sd_points", "panel_agreement", "panel_flagged", "vote_technical_expert", "vote_doc_reviewer")
    shown = {(row["question_id"], row["arm"]): tuple(row[column] for column in columns) for row in rows}
    assert shown["q0000", "docs"] == ("75.0", "21.213203435596427", "0.576", "true", "90.0", "60.0")
    assert shown["q0001", "baseline"] == ("50.0", "0.0", "1.0", "false", "50.0", "")
    assert shown["q0002", "docs"] == ("", "", "", "false", "", "")


def test_arms_v1_names_the_panel_and_its_votes_come_back(tmp_path: Path) -> None:
    payload = arms_v1_payload(
        facts(), QUESTIONS, answers=answers_of(TABLE), scores=scores(), timings=timings_of(TABLE), materials=MATERIALS
    )
    assert payload["judge_model"] == "panel[technical_expert+doc_reviewer]:judge-large"
    path = write_arms_v1(tmp_path / "run.json", payload)
    written = json.loads(path.read_text())["evaluations"][0]["scores"]["docs"]["panel"]
    assert {name: written[name] for name in ("n_judges", "n_valid", "agreement_score", "disagreement_flag")} == {
        "n_judges": 2,
        "n_valid": 2,
        "agreement_score": 0.576,
        "disagreement_flag": True,
    }
    read = {(row.question_id, row.arm): row.judgement.panel for row in read_arms_v1(path).scores}
    for row in scores():
        panel = row.judgement.panel
        assert panel is not None
        without_replies = tuple(vote.with_changes(raw_reply=None) for vote in panel.votes)
        assert read[row.question_id, row.arm] == panel.with_changes(votes=without_replies)


def test_a_panel_of_another_tool_is_read_with_what_it_says(tmp_path: Path) -> None:
    votes = [{"role": "pedant", "model": "m", "aggregate": 40, "error": None}, {"role": "fan", "aggregate": None, "error": "timeout"}]
    panel = {"n_judges": 2, "n_valid": 1, "std_aggregate": 0.0, "agreement_score": 1.0, "disagreement_flag": False, "votes": votes}
    answer = {"question_id": 0, "question_text": "How?", "arms": {"baseline": {"answer": "So."}}}
    evaluation = {"question_id": 0, "scores": {"baseline": {"aggregate": 40, "correctness": 40, "panel": panel}}}
    path = tmp_path / "run.json"
    path.write_text(
        json.dumps(
            {"arms": ["baseline"], "answers": [answer], "evaluations": [evaluation], "judge_model": "panel[a]:m", "judge_provider": "p"}
        )
    )
    (row,) = read_arms_v1(path).scores
    assert row.judgement.dimensions == {"correctness": 40.0}
    assert row.judgement.panel is not None
    assert [(vote.role, vote.points, vote.reason) for vote in row.judgement.panel.votes] == [
        ("pedant", 40.0, None),
        ("fan", None, "timeout"),
    ]
    assert row.judgement.notes == {}


def test_the_report_says_when_answers_were_stored_and_that_judging_asked_for_none() -> None:
    stored = datetime(2026, 3, 14, 8, 0, tzinfo=UTC)
    text = arms_markdown(report(facts(answers_stored_at=stored, judging_answer_calls=0)))
    assert "- **Answers stored**: 2026-03-14 08:00:00 UTC; this judging asked 0 answer calls\n" in text
    assert "**Problem:** This judging asked" not in text
    assert "**Problem:** This judging asked 2 answer calls; a judge" in arms_markdown(report(facts(judging_answer_calls=2)))
