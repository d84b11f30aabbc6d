"""Tags by which runs are found: suite, cell, judge. They are set when a run starts, so that every way of launching has them."""

from collections.abc import Iterable

import dagster as dg

from assets.declared import SUITE_TAG

CELL_TAG = "evalplatform/cell"
JUDGE_TAG = "evalplatform/judge"
MAX_TAG_CHARS = 200  # what the UI shows of a tag without being pushed aside; a batch names many cells


def tag_run(context: dg.AssetExecutionContext, suite_id: str, *, cells: Iterable[str] = (), judges: Iterable[str] = ()) -> None:
    """Tag the body's run with the suite, and with the cells and judges whose partitions it makes."""
    tags = {SUITE_TAG: suite_id, CELL_TAG: joined_values(cells), JUDGE_TAG: joined_values(judges)}
    context.instance.add_run_tags(context.run.run_id, {name: value for name, value in tags.items() if value})


def joined_values(values: Iterable[str]) -> str:
    """Return distinct values as one tag's value: those that fit, then how many more there are."""
    distinct = list(dict.fromkeys(values))
    shown: list[str] = []
    for value in distinct:
        if shown and len(", ".join([*shown, value])) > MAX_TAG_CHARS:
            break
        shown.append(value)
    left = len(distinct) - len(shown)
    return ", ".join(shown) + (f", and {left} more" if left else "")
