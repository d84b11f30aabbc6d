"""Materializing a suite's assets in this process, in a Dagster instance that the UI shows. Dagster is imported inside functions."""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalplatform.calls.counts import CallCounts
from evalplatform.calls.progress import OnProgress
from evalplatform.kernel.usage import known_sum
from evalplatform.project.load import PROJECT_FILE_NAME, Project
from evalplatform.stages.comparison_stages import wanted_comparisons

if TYPE_CHECKING:
    import dagster as dg

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}  # what fails is said once, by who started the run


@dataclass(frozen=True)
class SuiteRuns:
    """Runs over one suite's assets in this process; progress is shown here instead of in each step's log."""

    project: Project
    suite_id: str
    instance: "dg.DagsterInstance"
    on_progress: OnProgress

    def materialize(self, names: Sequence[str], keys: Sequence[str] = (), *, raise_on_error: bool = True) -> "dg.ExecuteInProcessResult":
        """Materialize assets by name in one run.

        Args:
            names: the assets' names.
            keys: the partition keys; of several, neighbours in Dagster's order. None for assets without partitions.
            raise_on_error: whether a failure is raised rather than told by the result.

        Raises:
            dagster.Failure: the step's failure, where `raise_on_error` is set.
            KeyboardInterrupt: Ctrl-C ended it. Dagster has an exception of its own for that, or tells it like any other failure.
        """
        import dagster as dg

        from assets.declared import asset_key
        from assets.suites import suite_assets

        several = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]} if len(keys) > 1 else {}
        try:
            with _interrupts_unlogged():
                result = dg.materialize(
                    suite_assets(
                        self.suite_id,
                        self.project.suite(self.suite_id),
                        description="",
                        comparisons=wanted_comparisons(self.project.cells_of(self.suite_id)),
                    ),
                    selection=[asset_key(self.suite_id, name) for name in names],
                    partition_key=keys[0] if len(keys) == 1 else None,
                    resources=self._resources(),
                    instance=self.instance,
                    tags=several,
                    run_config=QUIET,
                    raise_on_error=raise_on_error,
                )
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None
        if _was_interrupted(result):
            raise KeyboardInterrupt
        return result

    def _resources(self) -> dict[str, object]:
        import dagster as dg

        from resources import project_resources
        from resources.project import ProjectResource

        on_progress = self.on_progress

        class ShownProjectResource(ProjectResource):
            def on_progress(self, context: dg.AssetExecutionContext) -> OnProgress:
                return on_progress

        file = self.project.file or self.project.root / PROJECT_FILE_NAME
        return {**project_resources(file), "project": ShownProjectResource(project_file=os.fspath(file))}


@contextmanager
def _interrupts_unlogged() -> Iterator[None]:
    """Keep asyncio from logging Ctrl-C as a fatal error of the connection that was just being written to.

    Dagster's signal handler raises an exception that asyncio does not know for what it is, wherever the loop stands.
    """
    import dagster as dg

    def is_another_error(record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], dg.DagsterExecutionInterruptedError)

    logger = logging.getLogger("asyncio")
    logger.addFilter(is_another_error)
    try:
        yield
    finally:
        logger.removeFilter(is_another_error)


def _was_interrupted(result: "dg.ExecuteInProcessResult") -> bool:
    """Whether Ctrl-C is what a run failed of, as its steps or the run itself tell it."""
    import dagster as dg

    errors = (getattr(event.event_specific_data, "error", None) for event in result.all_events if event.is_failure)
    interrupts = {KeyboardInterrupt.__name__, dg.DagsterExecutionInterruptedError.__name__}
    return any(error is not None and error.cls_name in interrupts for error in errors)


def calls_of(results: "Iterable[dg.ExecuteInProcessResult]") -> CallCounts:
    """Return the calls that the materializations report."""
    tallies = dict.fromkeys(("paid", "replayed", "shared", "failed", "unpriced"), 0)
    paid_usd = []
    for result in results:
        for event in result.get_asset_materialization_events():
            metadata = event.materialization.metadata
            for name in tallies:
                if f"calls_{name}" in metadata:
                    tallies[name] += int(str(metadata[f"calls_{name}"].value))
            if "paid_usd" in metadata:
                paid_usd.append(float(str(metadata["paid_usd"].value)))
    return CallCounts(**tallies, paid_usd=known_sum(paid_usd))
