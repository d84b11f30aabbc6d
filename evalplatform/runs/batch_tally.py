"""A batch from its runs as they pass by: counted, and digested, without keeping them."""

from collections.abc import Iterable

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.runs.records import Batch, BatchHeader, Run, ScanCoverage, batch_id


class BatchTally:
    """Counts runs and remembers their ids alone, some 200 bytes a run."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, int], str] = {}
        self._graded = self._passed = 0
        self._with_steps = self._scanned = 0

    def add(self, run: Run) -> str:
        """Count one run and return its id, which takes a while to compute.

        Raises:
            InputError: its scenario has a run of that order already; or a text of it cannot be written as JSON.
        """
        key = (run.scenario_id, run.order)
        if key in self._ids:
            raise InputError(f"holds run {run.order} of {run.scenario_id!r} twice.")
        run_id = self._ids[key] = run.id
        self._graded += run.verdict is not None
        self._passed += run.verdict == "passed"
        self._with_steps += run.has_steps
        self._scanned += run.is_scanned
        return run_id

    def content_digest(self, header: BatchHeader) -> str:
        """Return the digest of a batch's content: its header and, by scenario and order, the ids of its runs, which cover all they say.

        When the batch was recorded is left out, so that a trace imported twice is one batch.
        """
        declared = header.model_dump(mode="json", exclude={"recorded_at"})
        return json_digest({"header": declared, "runs": [[*key, run_id] for key, run_id in sorted(self._ids.items())]})

    def batch(self, header: BatchHeader, *, truncated_reason: str | None) -> Batch:
        """Return the batch of a header and the runs that were counted, in whatever order they came."""
        digest = self.content_digest(header)
        return Batch(
            id=batch_id(header.recorded_at, digest),
            header=header,
            content_digest=digest,
            run_count=len(self._ids),
            graded_runs=self._graded,
            passed_runs=self._passed,
            coverage=ScanCoverage(scanned_runs=self._scanned, runs=self._with_steps),
            truncated_reason=truncated_reason,
        )


def tallied(runs: Iterable[Run]) -> BatchTally:
    """Return the tally of these runs. Raises as `BatchTally.add` does."""
    tally = BatchTally()
    for run in runs:
        tally.add(run)
    return tally
