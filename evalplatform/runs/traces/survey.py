"""What a set of trace files holds, found out before anything of it is imported."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError, nearest_name
from evalplatform.kernel.text import plural
from evalplatform.runs.records import MAX_RUNS_PER_SCENARIO
from evalplatform.runs.traces.problems import ProblemKind
from evalplatform.runs.traces.trace import TraceRun, read_traces

MAX_NAMED = 20
_MAX_KEPT = 1_000  # more than are named: a line's refusal may be found after that of a later line


class PlacedRun(NamedTuple):
    """A run of a trace with the file it stands in and its trial, stated or counted."""

    file: Path
    run: TraceRun
    trial: int

    @property
    def place(self) -> str:
        """Where it stands, as `FILE:LINE`."""
        return self.file.name if self.run.line is None else f"{self.file.name}:{self.run.line}"


class TraceSurvey:
    """Counts what files hold, and keeps of each run its scenario and trial alone.

    Attributes:
        refusals: why something cannot be imported, as they were found, up to a limit; `refused` counts all.
        problems: how often each kind of problem occurs; `problem_runs` counts the runs that have one, `named_problems` words the first.
    """

    def __init__(self, *, trials: frozenset[int] = frozenset(), known_scenarios: frozenset[str] | None = None) -> None:
        self._wanted = trials
        self._known = known_scenarios
        self._read_at: dict[tuple[str, int], str] = {}
        self.refusals: list[TraceError] = []
        self.refused = 0
        self.problems: Counter[ProblemKind] = Counter()
        self.problem_runs = 0
        self.named_problems: list[str] = []
        self.left_out = 0
        self.derived_ids = 0
        self.latest: datetime | None = None
        self.agents: set[str] = set()
        self.models: set[str] = set()
        self.trials: dict[str, list[int]] = defaultdict(list)

    @property
    def runs(self) -> int:
        """How many runs are to be imported."""
        return sum(len(trials) for trials in self.trials.values())

    def refuse(self, error: TraceError) -> None:
        """Count a refusal, and keep it while there are few."""
        self.refused += 1
        if len(self.refusals) < _MAX_KEPT:
            self.refusals.append(error)

    def add(self, placed: PlacedRun) -> None:
        """Count a run, or refuse it: one that is there already, one too many, or one of a scenario that there is not."""
        run = placed.run
        key = (run.scenario_id, placed.trial)
        if (refusal := self._refusal(placed, self._read_at.get(key))) is not None:
            self.refuse(refusal)
            return
        self._read_at[key] = placed.place
        if not self.wants(placed.trial):
            self.left_out += 1
            return
        self.trials[run.scenario_id].append(placed.trial)
        self.derived_ids += run.derived_id
        self.latest = max(filter(None, (self.latest, run.created_at)), default=None)
        self.agents |= {run.agent} if run.agent else set()
        self.models |= {run.model} if run.model else set()
        self._note_problems(placed)

    def wants(self, trial: int) -> bool:
        """Return whether a trial is to be imported."""
        return not self._wanted or trial in self._wanted

    def orders(self) -> dict[tuple[str, int], int]:
        """Return the order of each scenario and trial: its place among the imported trials of its scenario, by number, from 0."""
        return {(scenario, trial): order for scenario, trials in self.trials.items() for order, trial in enumerate(sorted(trials))}

    def raise_refusals(self) -> None:
        """Raise what was refused as one error, the first ones by line; return where nothing was.

        Raises:
            TraceError: something was refused, or no run is left to import.
        """
        if self.refused == 1:
            raise self.refusals[0]
        if self.refused:
            shown = sorted(self.refusals, key=lambda refusal: (refusal.file or "", refusal.line or 0))[:MAX_NAMED]
            rest = self.refused - len(shown)
            lines = [*(f"  {refusal}" for refusal in shown), *([f"  and {rest:,} more."] if rest else [])]
            raise TraceError("\n".join([f"{plural(self.refused, 'problem')}, so nothing was imported:", *lines]))
        if not self.runs:
            there = sorted({trial for _, trial in self._read_at})
            of_them = (
                f"no run is of trial {_words(self._wanted)}; there are trials {_words(there)}." if there else "the trace holds no run."
            )
            raise TraceError(of_them, field="--trial" if there else None)

    def _refusal(self, placed: PlacedRun, earlier: str | None) -> TraceError | None:
        scenario, nearest = placed.run.scenario_id, None
        if earlier is not None:
            rule = f"run {placed.trial} of scenario {scenario!r} is there already: {earlier}."
        elif self._known is not None and scenario not in self._known:
            rule, nearest = f"scenario {scenario!r} is not in the scenario file.", nearest_name(scenario, self._known)
        elif self.wants(placed.trial) and len(self.trials[scenario]) == MAX_RUNS_PER_SCENARIO:
            rule = f"scenario {scenario!r} has more than {MAX_RUNS_PER_SCENARIO} runs."
        else:
            return None
        return TraceError(rule, file=placed.file, line=placed.run.line, nearest=nearest)

    def _note_problems(self, placed: PlacedRun) -> None:
        self.problem_runs += bool(placed.run.problems)
        for problem in placed.run.problems:
            self.problems[problem.kind] += 1
            if len(self.named_problems) < MAX_NAMED:
                self.named_problems.append(f"{placed.place}: {placed.run.scenario_id}, run {placed.trial}: {problem.words}")


def placed_runs(files: Sequence[Path], *, format_name: str | None) -> Iterator[PlacedRun | TraceError]:
    """Iterate over the runs of files in turn; a run that states no trial is counted within its scenario, from 0.

    Raises:
        UnknownNameError: there is no such format.
    """
    seen: Counter[str] = Counter()
    for file in files:
        try:
            for item in read_traces(file, format_name=format_name):
                if isinstance(item, TraceError):
                    yield item
                    continue
                trial = seen[item.scenario_id] if item.trial is None else item.trial
                seen[item.scenario_id] += 1
                yield PlacedRun(file, item, trial)
        except TraceError as error:
            yield error


def surveyed(
    files: Sequence[Path],
    *,
    format_name: str | None,
    trials: frozenset[int],
    known_scenarios: frozenset[str] | None,
    on_run: Callable[[str], None],
) -> TraceSurvey:
    """Read files through once and return what they hold; `on_run` is told of each run that was "read".

    Raises:
        TraceError: any of it cannot be imported, with every reason as far as they are shown; or there is no run.
        UnknownNameError: there is no such format.
    """
    survey = TraceSurvey(trials=trials, known_scenarios=known_scenarios)
    for item in placed_runs(files, format_name=format_name):
        if isinstance(item, TraceError):
            survey.refuse(item)
        else:
            survey.add(item)
            on_run("read")
    survey.raise_refusals()
    return survey


def _words(numbers: Sequence[int] | frozenset[int]) -> str:
    shown = [str(number) for number in sorted(numbers)]
    return ", ".join(shown[:MAX_NAMED]) + (f" and {len(shown) - MAX_NAMED:,} more" if len(shown) > MAX_NAMED else "")
