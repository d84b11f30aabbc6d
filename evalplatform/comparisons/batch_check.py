"""Whether a batch of runs is what it should be, file by file and as a whole, before any number is read out of it.

Two of its gates are statistical. A judge call fails now and then, so coverage is asked for and not the absence of errors. And deltas are
taken over the questions that both arms scored, whatever a file states (treatment-arms spec, section 15).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalplatform.comparisons.batch_file_checks import file_results, treatment_of
from evalplatform.comparisons.batch_findings import BatchFinding, CheckResult, NoRun, NotPooled, NotReadable, OtherFileCount, Rejected
from evalplatform.comparisons.batch_pool import CellDelta, PairedArms, PooledDelta, cell_delta, pool
from evalplatform.comparisons.batch_rules import BatchRules
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.refusals import Refused
from evalplatform.kernel.values import Value

NO_FILE_COUNT = "no number of files was asked for"
NOTHING_TO_POOL = "no file has points in both arms"


@dataclass(frozen=True)
class BatchFile:
    """A file of the batch: its run, which is called as the file is, or what was found instead of one.

    `stated_deltas_points` holds each arm's own delta as the file states it.
    """

    name: str
    run: ComparedRun | NotReadable | Rejected | NoRun
    stated_deltas_points: Mapping[str, float] = field(default_factory=dict)


class FileVerdict(Value):
    """What was found of one file, check by check in a fixed order. `delta` is None where no question was scored in both of its two arms."""

    file: str
    results: tuple[CheckResult, ...]
    delta: CellDelta | None = None

    @property
    def findings(self) -> tuple[BatchFinding, ...]:
        """What is wrong with the file."""
        return tuple(result.finding for result in self.results if result.finding is not None)


class BatchCheck(Value):
    """What was found of a batch: of every file, and of the batch as a whole; `pooled` is None where its runs cannot be pooled."""

    rules: BatchRules
    files: tuple[FileVerdict, ...]
    results: tuple[CheckResult, ...]
    pooled: PooledDelta | None

    @property
    def findings(self) -> int:
        """How many checks failed, of files and of the batch."""
        return sum(result.finding is not None for results in (*(file.results for file in self.files), self.results) for result in results)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return self.findings == 0


def check_batch(files: Sequence[BatchFile], rules: BatchRules) -> BatchCheck:
    """Return what is wrong with a batch, and its deltas over the questions that both arms scored.

    A file whose arms are not those of the rules has no delta. All others are pooled, whatever else was found of them, if runs of their
    kind can be pooled at all.

    Args:
        files: the batch, in the order in which it is reported.
        rules: what it has to be.
    """
    paired = {file.name: _paired(file, rules) for file in files}
    deltas = {name: None if arms is None else cell_delta(arms) for name, arms in paired.items()}
    pooled = pool([arms for name, arms in paired.items() if arms is not None and deltas[name] is not None])
    return BatchCheck(
        rules=rules,
        files=tuple(FileVerdict(file=file.name, results=file_results(file.run, rules), delta=deltas[file.name]) for file in files),
        results=(_file_count(files, rules), _pooling(pooled)),
        pooled=pooled if isinstance(pooled, PooledDelta) else None,
    )


def _paired(file: BatchFile, rules: BatchRules) -> PairedArms | None:
    run = file.run
    if not isinstance(run, ComparedRun) or (arm := treatment_of(run, rules)) is None:
        return None
    return PairedArms(run=run, treatment_arm=arm, stated_delta_points=file.stated_deltas_points.get(arm))


def _file_count(files: Sequence[BatchFile], rules: BatchRules) -> CheckResult:
    """A rejected result, and what is no run, are not of the batch's files: what should be there is missing."""
    if rules.expected_files is None:
        return CheckResult(check="files", not_made=NO_FILE_COUNT)
    there = sum(not isinstance(file.run, Rejected | NoRun) for file in files)
    if there == rules.expected_files:
        return CheckResult(check="files")
    return CheckResult(check="files", finding=OtherFileCount(expected=rules.expected_files, files=there))


def _pooling(pooled: PooledDelta | Refused | None) -> CheckResult:
    if pooled is None:
        return CheckResult(check="pooling", not_made=NOTHING_TO_POOL)
    return CheckResult(check="pooling", finding=NotPooled(refused=pooled) if isinstance(pooled, Refused) else None)
