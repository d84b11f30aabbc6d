"""The questions of an arms report: the table of their scores and the drill-down into their answers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.records import ArmSummary
from evalplatform.judging.records import Judgement, PanelVerdict
from evalplatform.kernel.digests import text_digest
from evalplatform.questions.records import Question
from evalplatform.reports import words
from evalplatform.reports.arms_panel import judge_reply, panel_facts, spread_cell
from evalplatform.reports.arms_retrieval import required_found
from evalplatform.reports.arms_rows import Place, RunRows
from evalplatform.reports.arms_view import AnswerView, ArmPoints, ChunkView, QuestionView
from evalplatform.reports.view import Cell, Column, Fact, Section, Table, Tone
from evalplatform.reports.visible import one_line

QUESTION_CHARS = 60  # treatment-arms spec, 16
TABLE_QUESTIONS_LIMIT = 1_000
DRILL_DOWN_LIMIT = 200


class Evidence(NamedTuple):
    """What the questions of a report are shown with: the statistics, the rows, and every arm's points by question."""

    summary: ArmSummary
    rows: RunRows
    points: Mapping[str, Mapping[str, float]]


def most_changed(questions: Sequence[Question], summary: ArmSummary, limit: int) -> list[int]:
    """Return the positions of the `limit` questions that moved most from the baseline arm, in the order of the set.

    A question moved by the largest absolute delta of any arm. Among equals the earlier question is taken.
    """
    if len(questions) <= limit:
        return list(range(len(questions)))
    moved = dict.fromkeys((question.id for question in questions), -1.0)
    for delta in summary.deltas.values():
        for question_id, points in delta.question_deltas.items():
            moved[question_id] = max(moved.get(question_id, -1.0), abs(points))
    ordered = sorted(range(len(questions)), key=lambda position: (-moved[questions[position].id], position))
    return sorted(ordered[:limit])


def shown_sentence(total: int, shown: int, what: str) -> str:
    """Return which questions are shown and where the others are."""
    if shown == total:
        return f"All {total:,} questions, in the order of the set."
    return f"The {shown:,} of {total:,} questions {what}, in the order of the set. All {total:,} are in the CSV and JSON files of this run."


def scores_section(questions: Sequence[Question], evidence: Evidence) -> Section:
    """Return the table of per-question scores: 60 characters of the question, points without decimals."""
    summary = evidence.summary
    shown = most_changed(questions, summary, TABLE_QUESTIONS_LIMIT)
    detailed = set(most_changed(questions, summary, DRILL_DOWN_LIMIT))
    columns = [Column(label="Id", numeric=False), Column(label="Question", numeric=False), *(Column(label=arm) for arm in summary.arms)]
    has_panel = any(judgement.panel is not None for judgement in evidence.rows.judgements.values())
    if has_panel:
        columns.append(Column(label="Panel spread", meaning="The largest among the answers to this question."))
    table = []
    for position in shown:
        question = questions[position]
        anchor = anchor_of(position) if position in detailed else None
        cells = [Cell(text=question.id, anchor=anchor), Cell(text=one_line(question.question, QUESTION_CHARS))]
        scored = arm_points(question, evidence)
        cells += [Cell(text=item.points, tone="muted" if item.points == words.MISSING else "plain") for item in scored]
        if has_panel:
            cells.append(spread_cell(_panels(question, evidence)))
        table.append(tuple(cells))
    return Section(
        key="questions",
        title="Per-question scores",
        intro=shown_sentence(len(questions), len(shown), f"whose points differ most from {summary.baseline_arm}"),
        table=Table(columns=tuple(columns), rows=tuple(table)),
    )


def _panels(question: Question, evidence: Evidence) -> list[PanelVerdict]:
    """Return the panel's verdicts on every answer to a question."""
    places = ((question.id, arm, draw) for arm in evidence.summary.arms for draw in range(evidence.summary.draws))
    judged = (evidence.rows.judgements.get(place) for place in places)
    return [judgement.panel for judgement in judged if judgement is not None and judgement.panel is not None]


def anchor_of(position: int) -> str:
    """Return a question's place on the page; ids are text that users wrote, positions are not."""
    return f"question-{position + 1}"


def arm_points(question: Question, evidence: Evidence) -> tuple[ArmPoints, ...]:
    """Return every arm's points for one question, and its delta from the baseline arm."""
    found = []
    for arm in evidence.summary.arms:
        points = evidence.points[arm].get(question.id)
        paired = evidence.summary.deltas.get(arm)
        delta = None if paired is None else paired.question_deltas.get(question.id)
        tone: Tone = "muted" if points is None else "plain" if not delta else "better" if delta > 0 else "worse"
        shown = None if delta is None else words.fixed(delta, 0, signed=True)
        found.append(ArmPoints(arm=arm, points=words.fixed(points, 0), delta=shown, tone=tone))
    return tuple(found)


def question_views(questions: Sequence[Question], evidence: Evidence) -> tuple[QuestionView, ...]:
    """Return the drill-down: every answer to each of the shown questions."""
    return tuple(_view(position, questions[position], evidence) for position in most_changed(questions, evidence.summary, DRILL_DOWN_LIMIT))


def _view(position: int, question: Question, evidence: Evidence) -> QuestionView:
    about = {"Category": question.category, "Level": question.level, "Difficulty": question.difficulty, "Persona": question.persona}
    facts = [
        Fact(label=label, value=value if isinstance(value, str) else _json(value)) for label, value in about.items() if value is not None
    ]
    if question.ground_truth_chunk is not None:
        facts.append(Fact(label="Ground truth", value=question.ground_truth_chunk))
    for label, facts_of in (("Expected", question.expected_facts), ("Forbidden", question.forbidden_facts)):
        if facts_of:
            facts.append(Fact(label=label, value="; ".join(fact.label for fact in facts_of)))
    if question.required_documents:
        facts.append(Fact(label="Required documents", value=", ".join(question.required_documents)))
    return QuestionView(
        anchor=anchor_of(position),
        id=question.id,
        question=question.question,
        about=tuple(facts),
        points=arm_points(question, evidence),
        answers=tuple(
            _answer(question, (question.id, arm, draw), evidence) for arm in evidence.summary.arms for draw in range(evidence.summary.draws)
        ),
    )


def _answer(question: Question, place: Place, evidence: Evidence) -> AnswerView:
    _, arm, draw = place
    rows, draws = evidence.rows, evidence.summary.draws
    answer, judgement = rows.answers.get(place), rows.judgements.get(place)
    points = None if judgement is None else judgement.points
    return AnswerView(
        arm=arm,
        draw=None if draws == 1 else f"draw {draw + 1} of {draws}",
        points=words.points(points),
        tone="caution" if points is None else "plain",
        # Where nobody judged, the page says so once; here stands only what went wrong with the answer itself.
        why=rows.why_unscored(place) if rows.judgements or answer is None else answer.reason,
        dimensions=()
        if judgement is None
        else tuple(Fact(label=name, value=words.fixed(number, 0)) for name, number in judgement.dimensions.items()),
        caps=() if judgement is None else tuple(f"{name}: {_json(cap)}" for name, cap in judgement.caps.items()),
        answer=None if answer is None else answer.answer,
        raw_answer=None if answer is None else answer.raw_answer,
        chunks=() if answer is None else _chunks(answer),
        judge_reply=None if judgement is None else judge_reply(judgement),
        record=_record(question, answer, judgement, rows.timings.get(place)),
    )


def _chunks(answer: ArmAnswer) -> tuple[ChunkView, ...]:
    return tuple(
        ChunkView(source=chunk.source, relevance=words.fixed(chunk.relevance_score, 3), snippet=chunk.snippet)
        for chunk in answer.context_chunks
    )


def _required(question: Question, answer: ArmAnswer) -> str | None:
    found = required_found(question, answer)
    return None if found is None else f"{found.required:,} required, {found.retrieved:,} of them retrieved, {found.kept:,} kept"


def _record(question: Question, answer: ArmAnswer | None, judgement: Judgement | None, timing: CallTiming | None) -> tuple[Fact, ...]:
    facts: list[tuple[str, str | None]] = []
    if answer is not None:
        shaped = "yes, by its treatment or a plugin" if answer.used_system_prompt else "no"
        facts += [
            ("State", answer.state),
            ("Answer digest", None if answer.answer is None else text_digest(answer.answer)),
            ("Answer length", None if answer.answer is None else f"{len(answer.answer):,} characters"),
            ("Raw answer digest", None if answer.raw_answer is None else text_digest(answer.raw_answer)),
            ("Request digest", answer.request_digest),
            ("Material digest", answer.material_digest),
            ("Context digest", answer.context_digest),
            ("System prompt digest", answer.system_prompt_digest),
            ("System prompt", shaped),
            ("Same call", "yes: another arm sent the very same request" if answer.same_call else None),
            ("Tokens", f"{words.count(answer.usage.prompt_tokens)} prompt, {words.count(answer.usage.completion_tokens)} completion"),
            ("Cost", f"USD {words.usd(answer.cost_usd)}"),
            ("Documents", _required(question, answer)),
            ("Treatment", _json(answer.metadata) if answer.metadata else None),
        ]
    if timing is not None:
        facts.append(("Latency", words.seconds(timing.latency_seconds) + (" (replayed)" if timing.replayed else "")))
    if judgement is not None:
        facts += [
            ("Judge material", f"{judgement.material_source}, {judgement.material_digest or 'no digest'}"),
            ("Judge redraws", words.count(judgement.redraws) if judgement.redraws else None),
            ("Unread claims", ", ".join(map(str, judgement.unread_claims)) or None),
            ("Judge notes", _json(judgement.notes) if judgement.notes else None),
        ]
    shown = tuple(Fact(label=label, value=value) for label, value in facts if value is not None)
    return shown if judgement is None or judgement.panel is None else (*shown, *panel_facts(judgement.panel))


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
