"""Backfills through Dagster in this process, run by run, with what each one paid. Dagster is imported inside functions."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evalplatform.calls.progress import OnProgress, Progress
from evalplatform.cli.orchestration.home import register
from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.cli.orchestration.runs import SuiteRuns, calls_of
from evalplatform.kernel.values import Value
from evalplatform.project.load import Project
from evalplatform.stages import arm_answers, arms_report, judged_scores
from evalplatform.stages.backfill import BackfillWork
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS
from evalplatform.stages.report_findings import ReportFindings, found_in_comparisons, found_in_reports
from evalplatform.wiring import OpenedProject

if TYPE_CHECKING:
    import dagster as dg

PROGRESS_STAGE = "partitions"
ASKING_ASSETS = frozenset({arm_answers.ASSET, judged_scores.ASSET})


class FailedPartition(Value):
    """A partition that a backfill did not finish; `partition` is as Dagster writes it, `reason` the sentence of what stopped it."""

    suite: str
    partition: str
    reason: str


class CallsMade(Value):
    """The model calls of a backfill, by the ledger: made now, what they cost where that is known, and what was replayed instead."""

    calls: int = 0
    known_usd: float = 0.0
    unpriced_calls: int = 0
    replayed: int = 0

    def __add__(self, other: "CallsMade") -> "CallsMade":
        return CallsMade(**{name: getattr(self, name) + getattr(other, name) for name in CallsMade.model_fields})


class BackfillOutcome(Value):
    """What a backfill did.

    `partitions` counts what was to be made, `finished` what is materialized, whatever became of the rest; each asset's are counted for
    themselves. `failed` has one entry a partition key, whatever number of assets it lacks. `incomplete` names what is materialized with
    failed calls, which the next backfill asks again. `findings` are those of the reports and comparisons that it made.
    """

    partitions: int
    finished: int
    failed: tuple[FailedPartition, ...]
    incomplete: tuple[str, ...]
    answer_calls: CallsMade
    judge_calls: CallsMade
    findings: ReportFindings = ReportFindings()


def run_backfill(project: Project, home: Path, works: Sequence[BackfillWork], *, on_progress: OnProgress) -> BackfillOutcome:
    """Make the partitions of every suite's work in this process: sources, answers cell by cell, then scores and comparisons judge by judge.

    A partition that fails leaves the others be; what is made from it is not tried, and is named too.
    """
    with open_instance(home) as instance, OpenedProject(project) as opened:
        register(instance, project)
        tracker = _Tracker(opened, total=sum(len(work.partitions) for work in works), on_progress=on_progress)
        for work in works:
            _SuiteBackfill(work, SuiteRuns(project, work.suite, instance, on_progress), tracker).run()
        return tracker.outcome()


def neighbours(keys: Sequence[str], *, among: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield the keys in the order of `among`, cut into pieces of at most `most` that have no other key between them.

    Dagster takes a run's partitions as a first and a last one, so a piece can only be what lies between two.
    """
    wanted, piece = set(keys), list[str]()
    for key in among:
        if key in wanted:
            piece.append(key)
        if piece and (key not in wanted or len(piece) == most):
            yield piece
            piece = []
    if piece:
        yield piece


@dataclass
class _Tracker:
    """Counts what is finished and what was paid, and tells progress."""

    opened: OpenedProject
    total: int
    on_progress: OnProgress
    done: int = 0
    finished: int = 0
    failed: list[FailedPartition] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    told: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    calls: dict[str, CallsMade] = field(default_factory=lambda: dict.fromkeys(ASKING_ASSETS, CallsMade()))

    def __post_init__(self) -> None:
        self._started_at = self.opened.clock.monotonic_seconds()

    def note_run(self, result: "dg.ExecuteInProcessResult", *, asking: str | None, partitions: int) -> None:
        """Add what a run paid; of several partitions, each has a run id of its own in the ledger."""
        for event in result.get_asset_materialization_events():
            made = event.materialization
            suite_id, asset = made.asset_key.path[-2:]
            if asset == arms_report.ASSET or asset in COMPARISON_ASSETS:
                self.told.setdefault(suite_id, []).append((asset, str(made.partition).replace("|", "/")))
            if asset in ASKING_ASSETS and "complete" in made.metadata and made.metadata["complete"].value is False:
                self.incomplete.append(f"{asset} {made.partition}")
        if asking is not None:
            run_ids = [result.run_id] if partitions == 1 else [f"{result.run_id}.{number}" for number in range(1, partitions + 1)]
            spends = [asyncio.run(self.opened.ledger.spend(run_id)) for run_id in run_ids]
            paid = [CallsMade(calls=one.calls, known_usd=one.known_usd, unpriced_calls=one.unpriced_calls) for one in spends]
            self.calls[asking] = sum(paid, self.calls[asking] + CallsMade(replayed=calls_of([result]).replayed))

    def note_partitions(self, suite: str, wanted: Mapping[str, Sequence[str]], failures: Mapping[str, str], *, finished: int = 0) -> None:
        """Count a run's partitions, of which `finished` are materialized, and tell progress; `wanted` are the assets of each key."""
        self.failed += [FailedPartition(suite=suite, partition=key, reason=failures[key]) for key in wanted if key in failures]
        self.finished += finished
        self.done += sum(len(names) for names in wanted.values())
        elapsed_seconds = self.opened.clock.monotonic_seconds() - self._started_at
        per_second = self.done / elapsed_seconds if elapsed_seconds > 0 else None
        made = sum(self.calls.values(), CallsMade())
        self.on_progress(
            Progress(
                stage=PROGRESS_STAGE,
                done=self.done,
                total=self.total,
                failed=self.done - self.finished,
                paid=made.calls,
                replayed=made.replayed,
                spent_usd=made.known_usd,
                elapsed_seconds=elapsed_seconds,
                per_second=per_second,
                eta_seconds=(self.total - self.done) / per_second if per_second else None,
            )
        )

    def outcome(self) -> BackfillOutcome:
        return BackfillOutcome(
            partitions=self.total,
            finished=self.finished,
            failed=tuple(self.failed),
            incomplete=tuple(self.incomplete),
            answer_calls=self.calls[arm_answers.ASSET],
            judge_calls=self.calls[judged_scores.ASSET],
            findings=sum((self._found(suite_id, told) for suite_id, told in self.told.items()), ReportFindings()),
        )

    def _found(self, suite_id: str, told: Sequence[tuple[str, str]]) -> ReportFindings:
        context = self.opened.suite_context(suite_id)
        manifests = [context.upstream(asset, partition) for asset, partition in told]
        of_reports = found_in_reports(context, (one for one in manifests if one.artifact.asset == arms_report.ASSET))
        return of_reports + found_in_comparisons(context, (one for one in manifests if one.artifact.asset != arms_report.ASSET))


@dataclass(frozen=True)
class _SuiteBackfill:
    """The work of one suite, in the order of the data."""

    work: BackfillWork
    runs: SuiteRuns
    tracker: _Tracker

    def run(self) -> None:
        """Make what can be made, in the order of the data."""
        sources = {name: (name,) for name in self.work.assets_of()}
        broken = self._made(sources, partitioned=False) if sources else {}
        unanswered = {cell: f"not tried: {reason}" for reason in list(broken.values())[:1] for cell in self._cell_keys}
        for cell in self.work.cells():
            wanted = {self._cell_keys[cell]: (arm_answers.ASSET,)}
            if cell in unanswered:
                self._not_tried(wanted, unanswered[cell])
            elif self._made(wanted, asking=arm_answers.ASSET):
                unanswered[cell] = "not tried: its answers were not made"
        for judge in self.work.judges:
            self._compare(judge, unscored=self._score(judge, unanswered))

    def _score(self, judge: str, unanswered: Mapping[str, str]) -> set[str]:
        """Make what is made of answers under one judge, several cells a run; return the ids of the cells that lack something."""
        from assets.batches import PARTITIONS_PER_RUN
        from assets.partitions import CELL, partitions_name

        judge_key = self.runs.project.judge(judge).key
        wanted, unscored = {}, set[str]()
        for cell in self.work.cells(judge=judge):
            of_cell = self.work.assets_of(cell=cell, judge=judge)
            if cell in unanswered:
                unscored.add(cell)
                self._not_tried({f"{self._cell_keys[cell]}|{judge_key}": of_cell}, unanswered[cell])
            else:
                wanted[self._cell_keys[cell]] = of_cell
        order = self.runs.instance.get_dynamic_partitions(partitions_name(self.work.suite, CELL))
        for piece in neighbours(list(wanted), among=order, most=PARTITIONS_PER_RUN):
            failed = self._made({f"{key}|{judge_key}": wanted[key] for key in piece}, asking=judged_scores.ASSET)
            unscored |= {cell for cell, key in self._cell_keys.items() if f"{key}|{judge_key}" in failed}
        return unscored

    def _compare(self, judge: str, *, unscored: Collection[str]) -> None:
        """Make what compares cells under one judge: the plugin deltas, several a run, then what is over many cells."""
        from assets.batches import PARTITIONS_PER_RUN
        from assets.partitions import PLUGIN_CELL, partitions_name

        judge_key = self.runs.project.judge(judge).key
        deltas, over_many = dict[str, str](), list[str]()
        for state in self.work.comparisons(judge):
            lacking = [cell for cell in state.compared if cell in unscored]
            if state.cell is None:
                over_many.append(state.asset)
            elif lacking:
                reason = f"not tried: the scores of {', '.join(lacking)} were not made"
                self._not_tried({f"{self._cell_keys[state.cell]}|{judge_key}": (state.asset,)}, reason)
            else:
                deltas[self._cell_keys[state.cell]] = state.asset
        order = self.runs.instance.get_dynamic_partitions(partitions_name(self.work.suite, PLUGIN_CELL))
        for piece in neighbours(list(deltas), among=order, most=PARTITIONS_PER_RUN):
            self._made({f"{key}|{judge_key}": (deltas[key],) for key in piece})
        if over_many:
            self._made({judge_key: over_many})

    def _not_tried(self, wanted: Mapping[str, Sequence[str]], reason: str) -> None:
        self.tracker.note_partitions(self.work.suite, wanted, dict.fromkeys(wanted, reason))

    def _made(self, wanted: Mapping[str, Sequence[str]], *, asking: str | None = None, partitioned: bool = True) -> Mapping[str, str]:
        """Make the assets of each key in one run; return the reasons of what failed, by key. Sources have their names for keys."""
        names = list(dict.fromkeys(name for of_key in wanted.values() for name in of_key))
        result = self.runs.materialize(names, list(wanted) if partitioned else (), raise_on_error=False)
        made = [event.materialization for event in result.get_asset_materialization_events()]
        recorded = {(str(one.partition or one.asset_key.path[-1]), one.asset_key.path[-1]) for one in made}
        missing = {key: [name for name in of_key if (key, name) not in recorded] for key, of_key in wanted.items()}
        reasons = failure_reasons(result)
        failures = {key: reasons.get(key) or reasons.get("") or "it was not made" for key, lacking in missing.items() if lacking}
        self.tracker.note_run(result, asking=asking, partitions=len(wanted))
        finished = sum(len(of_key) - len(missing[key]) for key, of_key in wanted.items())
        self.tracker.note_partitions(self.work.suite, wanted, failures, finished=finished)
        return failures

    @property
    def _cell_keys(self) -> Mapping[str, str]:
        return {cell.id: cell.key for cell in self.runs.project.cells_of(self.work.suite)}


def failure_reasons(result: "dg.ExecuteInProcessResult") -> dict[str, str]:
    """Return the sentences of failed steps: by partition where a run of several says which, else under the empty key."""
    reasons: dict[str, str] = {}
    for event in result.all_node_events:
        if event.is_step_failure:
            data = event.step_failure_data
            told = data.user_failure_data
            if told is not None and "failed_partitions" in told.metadata:
                named = told.metadata["failed_partitions"].value
                assert isinstance(named, dict)  # as a batch's failure writes it
                reasons |= {str(key): str(reason) for key, reason in named.items()}
            else:
                reasons[""] = (told.description if told is not None else None) or (data.error.message if data.error else "")
    return reasons
