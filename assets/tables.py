"""What Dagster shows of a stage's table without opening it elsewhere: its columns, its size, its first rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import dagster as dg

from evalplatform.artifacts.parquet import parquet_rows
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.reports.markdown import markdown_text
from evalplatform.reports.visible import one_line
from evalplatform.stages import arm_answers, judged_scores, score_moves, verdicts
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.move_table import MOVES
from evalplatform.stages.tables import ANSWERS, SCORES, Table

# The UI shows Markdown of up to about a thousand characters in place, and what is longer behind a link.
PREVIEW_ROWS = 5
PREVIEW_CHARS = 60

ROW_COLUMNS = {
    "question_id": "The question, by its id in the question set.",
    "arm": "The arm's name in this experiment.",
    "draw": "0 for the first sample of a request, 1 for the second.",
    "prompt_tokens": "Of all calls of the row, cached ones included; null where the server did not say.",
    "completion_tokens": "Of all calls of the row, reasoning included; null where the server did not say.",
    "cache_read_tokens": "Part of prompt_tokens that the server took from its cache; null where it did not say.",
    "reasoning_tokens": "Part of completion_tokens that went into reasoning; null where the server did not say.",
    "cost_usd": "US dollars; null where the price is unknown, never 0 for it.",
    "calls": "Model calls behind the row, replayed ones included.",
}
ANSWER_COLUMNS = {
    **ROW_COLUMNS,
    "state": "answered, no_answer (the model stopped before it answered) or failed.",
    "answer": "The model's text; null unless the state is answered. A text with a lone surrogate is kept as JSON behind a marker.",
    "reason": "Why there is no answer.",
    "raw_answer": "What the model wrote, where a plugin reshaped it into the answer.",
    "request_digest": "Names the exact request; the ledger holds its reply.",
    "material_digest": "Names the text a judge is given; it lies in texts.parquet.",
    "context_digest": "Names the injected documents; they lie in texts.parquet.",
    "system_prompt_digest": "Names the system prompt; it lies in texts.parquet.",
    "used_system_prompt": "The arm or a plugin set a system prompt.",
    "same_call": "Another arm sent the same request, and one call answered both.",
    "context_chunks": "Retrieved chunks, as JSON: source, the first 200 characters, relevance.",
    "metadata": "What the arm says of this row, as JSON.",
}
SCORE_COLUMNS = {
    **ROW_COLUMNS,
    "task_id": "Ties the row to what the judge was given; the judge never sees it.",
    "points": "0 to 100, or null with a reason.",
    "reason": "Why there are no points.",
    "dimensions": "The judge's own numbers, as JSON.",
    "caps": "Which rule lowered the points, and from what, as JSON.",
    "unread_claims": "Positions of the claims (from 0) whose verdict in the judge's reply could not be read.",
    "grounded": "Graded against reference facts, not by the judge's own knowledge.",
    "material_digest": "Names the text that the judge was given beside the answer.",
    "material_source": "stored: the text that the arm was given; snippet_fallback: only its retrieved snippets were kept.",
    "redraws": "Further replies that were needed to read the points.",
    "raw_reply": "The reply that the points were read from.",
    "notes": "What else the judge says of this row, as JSON.",
    "panel": "Every vote of a panel, with spread and agreement, as JSON; null for a single judge.",
}

VERDICT_COLUMNS = {
    "question_id": "The question's id in the question set.",
    "arm": "The arm's name.",
    "verdict": "passed, failed, or unscored where no draw has points.",
    "points": "The mean over the scored draws, 0 to 100; null where unscored.",
    "reason": "Why there is no verdict.",
}

MOVE_COLUMNS = {
    "question_id": "The question's id in the question set.",
    "arm": "The arm's name.",
    "draw": "0 for the first sample of a request, 1 for the second.",
    "state": "separable, not_separable (answer and judge both changed, and no third score is stored), unscored on a side, only_now or "
    "only_before.",
    "points_before": "0 to 100, by the judge before of the answer before; null where there are none.",
    "points_now": "0 to 100, by the judge now of the answer now; null where there are none.",
    "bridge": "Which third score told judge and answers apart, where one was needed.",
    "bridge_points": "The points of that score.",
    "judge_move_points": "What the judge moved: the same answer, judged in another way.",
    "answers_move_points": "What the answer moved: another answer, judged in the same way.",
    "reason": "What is missing where a side is unscored.",
}


@dataclass(frozen=True)
class ShownTable:
    """The main table of an asset: its file, its declared columns, and the columns of a preview."""

    file: str
    table: Table[Any]
    descriptions: Mapping[str, str]
    preview_columns: tuple[str, ...]

    def schema(self) -> dg.TableSchema:
        """Return the declared columns, as Dagster shows them."""
        return dg.TableSchema(
            columns=[
                dg.TableColumn(
                    field.name,
                    str(field.type),
                    description=self.descriptions.get(field.name),
                    constraints=dg.TableColumnConstraints(nullable=field.nullable),
                )
                for field in self.table.schema()
            ]
        )

    def preview(self, suite: SuiteContext, manifest: ArtifactManifest) -> str:
        """Return the first rows as a Markdown table. What models wrote is escaped: it stays text in the UI."""
        blocks = parquet_rows(suite.catalog.read(manifest, self.file), columns=self.preview_columns)
        rows = islice((row for block in blocks for row in block), PREVIEW_ROWS)
        return markdown_rows(self.preview_columns, ([row[column] for column in self.preview_columns] for row in rows))


def markdown_rows(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; every cell is one escaped line, cut where it is long."""
    lines = ["| " + " | ".join(markdown_text(one_line(_shown(cell), PREVIEW_CHARS)) for cell in row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles), *lines])


TABLES = {
    arm_answers.ASSET: ShownTable(arm_answers.ANSWERS_FILE, ANSWERS, ANSWER_COLUMNS, ("question_id", "arm", "state", "answer", "reason")),
    judged_scores.ASSET: ShownTable(judged_scores.SCORES_FILE, SCORES, SCORE_COLUMNS, ("question_id", "arm", "points", "reason")),
    verdicts.ASSET: ShownTable(
        verdicts.VERDICTS_FILE, verdicts.VERDICTS, VERDICT_COLUMNS, ("question_id", "arm", "verdict", "points", "reason")
    ),
    score_moves.ASSET: ShownTable(
        score_moves.MOVES_FILE,
        MOVES,
        MOVE_COLUMNS,
        ("question_id", "arm", "state", "points_before", "points_now", "judge_move_points", "answers_move_points"),
    ),
}


def _shown(cell: object) -> str:
    return "—" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)
