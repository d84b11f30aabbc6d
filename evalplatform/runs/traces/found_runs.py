"""The runs of several trace files in turn: where each stands, what it is called, and which number it has."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, filterfalse
from pathlib import Path
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.traces.record_fields import checked_scenario
from evalplatform.runs.traces.trace import TraceRun, read_traces


class FoundRun(NamedTuple):
    """A run of a trace with the file it stands in."""

    file: Path
    run: TraceRun

    @property
    def place(self) -> str:
        """Where it stands, as `FILE:LINE`."""
        return self.file.name if self.run.line is None else f"{self.file.name}:{self.run.line}"


class NumberedRun(NamedTuple):
    """A run with its trial: the stated one, or the first that is free in its scenario."""

    found: FoundRun
    trial: int


class TrialNumbers:
    """Numbers runs as they come; each run that states no trial takes a number which no run of its scenario states anywhere.

    Args:
        stated: the trials that runs state, by scenario.
    """

    def __init__(self, stated: Mapping[str, frozenset[int]]) -> None:
        self._stated = stated
        self._free: dict[str, Iterator[int]] = {}

    def numbered(self, found: FoundRun) -> NumberedRun:
        """Return the next run with its number; where others of its scenario state theirs, that it states none is a problem of it."""
        run = found.run
        if run.trial is not None:
            return NumberedRun(found, run.trial)
        taken = self._stated.get(run.scenario_id, frozenset())
        if taken:
            run = run.with_changes(problems=(*run.problems, TraceProblem(kind="unstated_trial")))
        free = self._free.setdefault(run.scenario_id, filterfalse(taken.__contains__, count()))
        return NumberedRun(found._replace(run=run), next(free))


def found_runs(files: Sequence[Path], *, format_name: str | None) -> Iterator[FoundRun | TraceError]:
    """Iterate over the runs of files in turn, with an error in place of what cannot be read.

    A scenario id that is made of a file's name begins with as much of the file's path as tells it from the other files.

    Raises:
        UnknownNameError: there is no such format.
    """
    labels = _labels(files)
    for file in files:
        try:
            for item in read_traces(file, format_name=format_name):
                yield item if isinstance(item, TraceError) else _labelled(FoundRun(file, item), labels[file])
        except TraceError as error:
            yield error


def _labelled(found: FoundRun, label: str) -> FoundRun | TraceError:
    run = found.run
    if not run.derived_id or label == found.file.stem:
        return found
    try:
        scenario = checked_scenario(label + run.scenario_id.removeprefix(found.file.stem), field=None)
    except TraceError as error:
        return error.placed(file=found.file, line=run.line)
    return found._replace(run=run.with_changes(scenario_id=scenario))


def _labels(files: Sequence[Path]) -> dict[Path, str]:
    """Return of each file its stem; of files with one stem the shortest ends of their paths that tell them apart, as `x/run.json`."""
    labels = {file: file.stem for file in files}
    for depth in range(1, max((len(file.absolute().parts) for file in files), default=0) + 1):
        times = Counter(labels.values())
        shared = [file for file, label in labels.items() if times[label] > 1]
        labels |= {file: "/".join(file.absolute().parts[-depth:]) for file in shared}
    return labels
