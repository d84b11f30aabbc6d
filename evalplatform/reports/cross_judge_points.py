"""Every judge's points, question by question: what a cross-judging rests on, in full."""

import csv
import io
from collections.abc import Iterator

from evalplatform.comparisons.cross_judge_records import CrossJudgement
from evalplatform.reports.csv import spreadsheet_safe

COLUMNS = ("run", "question_id", "question", "arm", "measure", "counts", "points")


def points_csv(result: CrossJudgement) -> str:
    """Return one row per run, question, arm and measure, unrounded, safe to open in a spreadsheet; no points is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(result))
    return out.getvalue()


def _rows(result: CrossJudgement) -> Iterator[tuple[str | float | bool | None, ...]]:
    for run in (one.run for one in result.runs):
        for question, text in run.question_texts.items():
            place = [spreadsheet_safe(name) for name in (run.name, question, text)]
            for arm in run.arms:
                for measure in run.measures:
                    points = measure.points.get(arm, {}).get(question)
                    yield (*place, spreadsheet_safe(arm), spreadsheet_safe(measure.name), measure.counts, points)
