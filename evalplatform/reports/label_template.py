"""A file for people to label answers in: question, answer, the digest that labels belong to, and empty columns for judgements."""

import csv
from collections.abc import Iterable
from typing import Protocol, TextIO

from evalplatform.labels.columns import ANSWER_DIGEST, LABEL_POINTS, LABEL_VERDICT
from evalplatform.reports.csv import spreadsheet_safe

TEMPLATE_COLUMNS = ("question", "answer", ANSWER_DIGEST, LABEL_POINTS, LABEL_VERDICT)


class ToLabel(Protocol):
    """An answer to be labelled."""

    @property
    def question(self) -> str:
        """What was asked."""
        ...

    @property
    def answer(self) -> str:
        """What was answered."""
        ...

    @property
    def answer_digest(self) -> str:
        """What labels of it belong to."""
        ...


def write_label_template(out: TextIO, answers: Iterable[ToLabel]) -> None:
    """Write one row an answer, in the given order, below a header row; texts are made safe to open in a spreadsheet.

    Args:
        out: an open text file, UTF-8, opened with `newline=""`.
        answers: the answers.
    """
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(TEMPLATE_COLUMNS)
    for answer in answers:
        writer.writerow([spreadsheet_safe(answer.question), spreadsheet_safe(answer.answer), answer.answer_digest, "", ""])
