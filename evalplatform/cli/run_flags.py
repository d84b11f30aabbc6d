"""What `arms run` and `arms matrix-run` were told, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalplatform.project.matrix_file import MatrixCell

FLAGS_ID = "flags"
"""The id of a cell or judge that flags make up."""

MATRIX_FLAG = "--matrix-cells"


@dataclass(frozen=True)
class ArmsRunFlags:
    """What `arms run` or `arms matrix-run` was told; None and empty mean "not told".

    Attributes:
        matrix_cells: the cells of `matrix_file` that are to be run, in place of the suite's; each replaces model, provider, harness and
            plugins.
        every_cell: run all cells of the suite.
    """

    suite: str | None = None
    cell: str | None = None
    product: str | None = None
    questions: Path | None = None
    arms: str | None = None
    arm: Sequence[str] = ()
    baseline_arm: str | None = None
    model: str | None = None
    provider: str | None = None
    harness: str | None = None
    plugins: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    draws: int | None = None
    top_k: int | None = None
    rerank_threshold: float | None = None
    concurrency: int | None = None
    judge: bool = False
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: float | None = None
    judge_panel: str | None = None
    grounded_from_topics: bool = False
    matrix_file: Path | None = None
    matrix_cells: tuple[MatrixCell, ...] = ()
    every_cell: bool = False
