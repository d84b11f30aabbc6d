"""What a set of trace files holds, found out before anything of it is imported."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from evalplatform.kernel.errors import TraceError, nearest_name
from evalplatform.kernel.text import plural
from evalplatform.runs.records import MAX_RUNS_PER_SCENARIO
from evalplatform.runs.traces.found_runs import FoundRun, NumberedRun, TrialNumbers, found_runs
from evalplatform.runs.traces.problems import ProblemKind

MAX_NAMED = 20
_MAX_KEPT = 1_000  # more than are named: a line's refusal may be found after that of a later line


class TraceSurvey:
    """Counts what files hold, and keeps of no run its trajectory.

    Attributes:
        refusals: why something cannot be imported, as they were found, up to a limit; `refused` counts all.
        problems: how often each kind of problem occurs; `problem_runs` counts the runs that have one, `named_problems` words the first.
    """

    def __init__(self, *, trials: frozenset[int] = frozenset(), known_scenarios: frozenset[str] | None = None) -> None:
        self._wanted = trials
        self._known = known_scenarios
        self._stated: dict[str, dict[int, str]] = defaultdict(dict)
        self._unstated: list[FoundRun] = []
        self._file_of_trace: dict[str, Path] = {}
        self._named: set[str] = set()
        self._derived: set[str] = set()
        self._there: set[int] = set()
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

    def add(self, found: FoundRun) -> None:
        """Count a run, or refuse it: one that is there already, one too many, or one of a scenario that there is not.

        One that states no trial is counted by `settle`, when it is known which numbers are free.
        """
        if (refusal := self._refusal(found)) is not None:
            self.refuse(refusal)
            return
        run = found.run
        (self._derived if run.derived_id else self._named).add(run.scenario_id)
        if run.trace_id is not None:
            self._file_of_trace[run.trace_id] = found.file
        if run.trial is None:
            self._unstated.append(found._replace(run=run.model_copy(update={"trajectory": None})))
        else:
            self._stated[run.scenario_id][run.trial] = found.place
            self._count(NumberedRun(found, run.trial))

    def settle(self) -> None:
        """Count the runs that state no trial. Called once, when all were added."""
        numbers = self.trial_numbers()
        for found in self._unstated:
            self._count(numbers.numbered(found))
        self._unstated.clear()

    def trial_numbers(self) -> TrialNumbers:
        """Return what numbers the runs, from the first one on, once all were added."""
        return TrialNumbers({scenario: frozenset(trials) for scenario, trials in self._stated.items()})

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
            if not self._there:
                raise TraceError("the trace holds no run.")
            rule = f"no run is of trial {_words(self._wanted)}; there are trials {_words(frozenset(self._there))}."
            raise TraceError(rule, field="--trial")

    def _refusal(self, found: FoundRun) -> TraceError | None:
        run, nearest = found.run, None
        scenario = run.scenario_id
        earlier = None if run.trial is None else self._stated[scenario].get(run.trial)
        cut_from = None if run.trace_id is None else self._file_of_trace.get(run.trace_id, found.file)
        if earlier is not None:
            rule = f"run {run.trial} of scenario {scenario!r} is there already: {earlier}."
        elif cut_from not in (None, found.file):
            rule = f"trace {run.trace_id} is in {cut_from} as well, and a trace is one run: put its spans into one file."
        elif scenario in self._derived or (run.derived_id and scenario in self._named):
            rule = f"scenario {scenario!r}, which is made of a file's name, is that of another run too: name the scenarios."
        elif self._known is not None and scenario not in self._known:
            rule, nearest = f"scenario {scenario!r} is not in the scenario file.", nearest_name(scenario, self._known)
        else:
            return None
        return TraceError(rule, file=found.file, line=run.line, nearest=nearest)

    def _count(self, numbered: NumberedRun) -> None:
        (found, trial), run = numbered, numbered.found.run
        self._there.add(trial)
        if not self.wants(trial):
            self.left_out += 1
            return
        if len(self.trials[run.scenario_id]) == MAX_RUNS_PER_SCENARIO:
            rule = f"scenario {run.scenario_id!r} has more than {MAX_RUNS_PER_SCENARIO} runs."
            self.refuse(TraceError(rule, file=found.file, line=run.line))
            return
        self.trials[run.scenario_id].append(trial)
        self.derived_ids += run.derived_id
        self.latest = max(filter(None, (self.latest, run.created_at)), default=None)
        self.agents |= {run.agent} if run.agent else set()
        self.models |= {run.model} if run.model else set()
        self.problem_runs += bool(run.problems)
        for problem in run.problems:
            self.problems[problem.kind] += 1
            if len(self.named_problems) < MAX_NAMED:
                self.named_problems.append(f"{found.place}: {run.scenario_id}, run {trial}: {problem.words}")


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
    for item in found_runs(files, format_name=format_name):
        if isinstance(item, TraceError):
            survey.refuse(item)
        else:
            survey.add(item)
            on_run("read")
    survey.settle()
    survey.raise_refusals()
    return survey


def _words(numbers: Sequence[int] | frozenset[int]) -> str:
    shown = [str(number) for number in sorted(numbers)]
    return ", ".join(shown[:MAX_NAMED]) + (f" and {len(shown) - MAX_NAMED:,} more" if len(shown) > MAX_NAMED else "")
