"""Run ids across the sections of one report: the same id should mean the same in each."""

from collections.abc import Iterator, Mapping

from evalplatform.comparisons.model_comparison_records import ModelComparison, OneNameForOthers, RunRow
from evalplatform.comparisons.refusals import Refused, RunSays


def names_of_others(sections: Mapping[str, ModelComparison | Refused]) -> Iterator[OneNameForOthers]:
    """Yield each run id that stands for another model, provider, harness or plugin set in one section than in another.

    A section that was refused says nothing of its runs.
    """
    by_run: dict[str, dict[str, str]] = {}
    for section, found in sections.items():
        for row in found.runs if isinstance(found, ModelComparison) else ():
            by_run.setdefault(row.run, {})[section] = _who(row)
    for run, said in by_run.items():
        if len(set(said.values())) > 1:
            yield OneNameForOthers(run=run, sections=tuple(RunSays(run=section, says=who) for section, who in said.items()))


def _who(row: RunRow) -> str:
    return ", ".join(word or "unknown" for word in (row.model, row.provider, row.harness, f"plugins {row.plugin_set}"))
