"""Scores as CSV: one row per question, arm and draw, unrounded, safe to open in a spreadsheet."""

import csv
from collections.abc import Sequence
from typing import TextIO

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.records import JudgedScore
from evalplatform.kernel.digests import answer_digest
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.reports.arms_retrieval import required_found
from evalplatform.reports.arms_rows import Place, RunRows

COLUMNS = (
    "question_id",
    "question",
    "arm",
    "draw",
    "state",
    "points",
    "unscored_reason",
    "answer_chars",
    "answer_digest",
    "request_digest",
    "material_digest",
    "same_call",
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cost_usd",
    "calls",
    "latency_seconds",
    "time_to_first_token_seconds",
    "replayed",
    "judge_redraws",
    "judge_cost_usd",
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
RETRIEVAL_COLUMNS = ("required_documents", "required_retrieved", "required_kept")
"""How many documents the question requires, and how many of them the answer's retrieval found and kept."""
PANEL_COLUMNS = ("panel_sd_points", "panel_agreement", "panel_flagged")
"""How far the votes of a judge panel lie apart."""
CsvValue = str | int | float | bool | None


def spreadsheet_safe(text: str) -> str:
    """Return text that a spreadsheet shows instead of running it.

    A text that starts with `=`, `+`, `-`, `@`, a tab or a line break gets a leading apostrophe (OWASP, CSV injection), and so does one that
    starts with an apostrophe: taking one leading apostrophe away always gives the text back. A lone surrogate, which UTF-8 cannot hold,
    becomes U+FFFD. Numbers are written as numbers and need none of this.
    """
    writable = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return "'" + writable if writable.startswith(FORMULA_STARTS) else writable


def write_scores_csv(
    out: TextIO,
    *,
    questions: QuestionSet,
    arms: Sequence[str],
    draws: int,
    answers: Sequence[ArmAnswer],
    scores: Sequence[JudgedScore],
    timings: Sequence[CallTiming],
) -> int:
    """Write one row per question, arm and draw, in that order, and return how many.

    The first row names the columns; those of retrieval follow where a question requires documents, those of a panel where one judged (its
    votes as `vote_ROLE`), and those of the judge's dimensions come last, as `dimension_NAME`. A missing number is an empty cell. A place
    without an answer has the state `not_asked`. Answers stand by length and digest; their text is in the JSON artifact. `answer_digest` is
    what labels belong to: with a column of judgements added, the file can be imported as labels.

    Args:
        out: an open text file, UTF-8, opened with `newline=""`.
        questions: the set, in its order.
        arms: arm names, in the order of the run.
        draws: draws per question and arm.
        answers: every answer there is.
        scores: every judgement there is.
        timings: how long the calls took.
    """
    rows = RunRows(answers, scores, timings)
    dimensions = sorted({name for judgement in rows.judgements.values() for name in judgement.dimensions})
    # RFC 4180's line ends; with a bare newline the csv module leaves a lone carriage return in a text unquoted.
    writer = csv.writer(out, lineterminator="\r\n")
    measured, roles = bool(questions.required_documents), _roles(rows)
    named = (*(f"vote_{role}" for role in roles), *(f"dimension_{name}" for name in dimensions))
    groups = (COLUMNS, RETRIEVAL_COLUMNS if measured else (), PANEL_COLUMNS if roles else (), map(spreadsheet_safe, named))
    writer.writerow([column for group in groups for column in group])
    places = [(question, (question.id, arm, draw)) for question in questions.questions for arm in arms for draw in range(draws)]
    for question, place in places:
        found = _found(question, place, rows) if measured else ()
        values = (*_values(question, place, rows), *found, *_panel(place, roles, rows), *_dimensions(place, dimensions, rows))
        writer.writerow([_cell(value) for value in values])
    return len(places)


def _values(question: Question, place: Place, rows: RunRows) -> tuple[CsvValue, ...]:
    answer, judgement, timing = rows.answers.get(place), rows.judgements.get(place), rows.timings.get(place)
    return (
        question.id,
        question.question,
        place[1],
        place[2],
        "not_asked" if answer is None else answer.state,
        None if judgement is None else judgement.points,
        rows.why_unscored(place),
        *((None,) * 10 if answer is None else _answer_values(question, answer)),
        *((None,) * 3 if timing is None else (timing.latency_seconds, timing.time_to_first_token_seconds, timing.replayed)),
        *((None,) * 2 if judgement is None else (judgement.redraws, judgement.cost_usd)),
    )


def _answer_values(question: Question, answer: ArmAnswer) -> tuple[CsvValue, ...]:
    return (
        None if answer.answer is None else len(answer.answer),
        None if answer.answer is None else answer_digest(question.question, answer.answer),
        answer.request_digest,
        answer.material_digest,
        answer.same_call,
        answer.usage.prompt_tokens,
        answer.usage.completion_tokens,
        answer.usage.cache_read_tokens,
        answer.cost_usd,
        answer.calls,
    )


def _found(question: Question, place: Place, rows: RunRows) -> tuple[CsvValue, ...]:
    answer = rows.answers.get(place)
    found = None if answer is None else required_found(question, answer)
    required = len(set(question.required_documents)) or None
    return (required, None, None) if found is None else (found.required, found.retrieved, found.kept)


def _roles(rows: RunRows) -> tuple[str, ...]:
    """Return the roles of the panel that judged, in the order of their votes; none where no panel did."""
    panels = (judgement.panel for judgement in rows.judgements.values() if judgement.panel is not None)
    return tuple(dict.fromkeys(vote.role for panel in panels for vote in panel.votes))


def _panel(place: Place, roles: Sequence[str], rows: RunRows) -> tuple[CsvValue, ...]:
    if not roles:
        return ()
    judgement = rows.judgements.get(place)
    panel = None if judgement is None else judgement.panel
    if panel is None:
        return (None,) * (len(PANEL_COLUMNS) + len(roles))
    points = {vote.role: vote.points for vote in panel.votes}
    return (panel.sd_points, panel.agreement, panel.flagged, *(points.get(role) for role in roles))


def _dimensions(place: Place, names: Sequence[str], rows: RunRows) -> tuple[CsvValue, ...]:
    judgement = rows.judgements.get(place)
    return tuple(None if judgement is None else judgement.dimensions.get(name) for name in names)


def _cell(value: CsvValue) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return spreadsheet_safe(value) if isinstance(value, str) else value
