"""Importing recorded traces: their runs become a bundle, graded by the verdict they bring or by a scenario set's assertions.

Files are read twice: first through, so that nothing of a trace is imported when a line of it cannot be; then run by run into the bundle,
one run in memory at a time.
"""

import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import JsonValue

from evalplatform.judging.structural import STRUCTURAL_JUDGE, grade_structurally
from evalplatform.kernel.errors import BundleError, TraceError
from evalplatform.kernel.text import clip
from evalplatform.kernel.values import Value
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.batch_tally import BatchTally
from evalplatform.runs.bundle import BUNDLE_ENDING, BundleWriter, new_bundle, read_header
from evalplatform.runs.bundle_file import locked
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.policies import PolicyScan, policy_scan
from evalplatform.runs.records import GRADED_OUTCOMES, Batch, BatchHeader, CiEvent, Outcome, PlannedScenario, Run
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.traces.found_runs import found_runs
from evalplatform.runs.traces.problems import ProblemKind, problems_named
from evalplatform.runs.traces.survey import TraceSurvey, surveyed
from evalplatform.runs.traces.trace import TraceGrade, TraceRun
from evalplatform.runs.trajectory import trajectory_digest
from evalplatform.stages.run_grading import MAX_REASON_CHARS, passed_limit_words, unchecked_limit_notes

RECORDED_JUDGE = "recorded"
"""The judge's identity where the verdict is the one that the trace brings."""
UNNAMED_AGENT = "imported"
LARGEST_CLOCK_SKEW = timedelta(days=1)
TEMPORARY_BEGINNING, TEMPORARY_ENDING = ".import-", f"{BUNDLE_ENDING}.tmp"
LEFT_OVER_AFTER_SECONDS = 60.0
"""An import locks its file in less; a file that is older and not locked is that of a process which died."""
NEVER_ACTED = "The trace holds no message and no call of the agent."

OnRun = Callable[[str], None]
"""Told of each run that was "read" or "written"."""

ScenariosById = Mapping[str, Scenario] | None


@dataclass(frozen=True)
class TraceImport:
    """What is imported, and as what.

    Attributes:
        files: the trace files.
        format_name: a name of `trace_formats`, None to find it out.
        trials: the trials to import; empty for all.
        scenario_set: whose assertions grade the runs, and whose policies they are scanned for; None leaves the verdict of the trace.
        project, tenant: whose batch it becomes.
        agent, model: who acted; None for what the trace says.
        commit, branch: of the agent.
        ci_event: what the CI build of that commit was for; None outside CI.
        recorded_at: when it was recorded; None for the latest time that the trace states, or else now.
        held_policy: the gate policy that the platform holds, under which the batch stands where its scenario set has none.
    """

    files: tuple[Path, ...]
    project: str
    tenant: str = "default"
    format_name: str | None = None
    trials: frozenset[int] = frozenset()
    scenario_set: ScenarioSet | None = None
    agent: str | None = None
    model: str | None = None
    commit: str | None = None
    branch: str | None = None
    ci_event: CiEvent | None = None
    recorded_at: datetime | None = None
    held_policy: HeldPolicy | None = None

    @property
    def policy_json(self) -> dict[str, JsonValue] | None:
        """The gate policy as the batch records it."""
        own = None if self.scenario_set is None else self.scenario_set.policy_json
        return own if own is not None or self.held_policy is None else self.held_policy.model_dump(mode="json")

    def declared(self) -> dict[str, PlannedScenario]:
        """Return what is declared of scenarios, by id: by the scenario set, with the tiers of a held policy that stands in for its own."""
        found = {} if self.scenario_set is None else self.scenario_set.planned_all()
        if self.held_policy is None or (self.scenario_set is not None and self.scenario_set.policy is not None):
            return found
        moved = self.held_policy.tier_by_scenario.items()
        return {**found, **{name: found.get(name, PlannedScenario()).with_changes(tier=tier) for name, tier in moved}}


class ImportedTraces(Value):
    """What an import came to.

    Attributes:
        bundle: the file that was written, or that held the same batch already (`already_there`).
        outcomes: how many runs ended so.
        scenarios_without_runs: scenarios of the scenario set that no trace has a run of; the batch does not hold them.
        left_out_runs: runs of trials that were not asked for.
        derived_ids: runs whose scenario id was made of the file's name, because they name none.
        problems: how often each kind of problem occurs, in `problem_runs` runs; `named_problems` words the first of them.
        models: what the trace names as model; the batch has a model only where that is one.
    """

    bundle: str
    already_there: bool
    batch: Batch
    scenarios: int
    outcomes: dict[Outcome, int]
    scenarios_without_runs: int
    left_out_runs: int
    derived_ids: int
    problems: dict[ProblemKind, int]
    problem_runs: int
    named_problems: tuple[str, ...]
    models: tuple[str, ...]


def import_traces(
    wanted: TraceImport, *, folder: Path, out: Path | None = None, now: datetime, on_run: OnRun = lambda _: None
) -> ImportedTraces:
    """Write the runs of trace files as one finished bundle.

    Args:
        wanted: what is imported.
        folder: where the bundle goes, named by its content: the same import again finds it there.
        out: the bundle's file instead.
        now: the current time.
        on_run: told of progress.

    Raises:
        TraceError: something cannot be imported; no bundle is written.
        BundleError: `out` is there already, or cannot be written.
        UnknownNameError: there is no such format.
    """
    if out is not None and out.exists():
        raise _taken(out)
    _check_named_once(wanted.files)
    scenarios = None if wanted.scenario_set is None else {scenario.id: scenario for scenario in wanted.scenario_set.scenarios}
    known = None if scenarios is None else frozenset(scenarios)
    survey = surveyed(wanted.files, format_name=wanted.format_name, trials=wanted.trials, known_scenarios=known, on_run=on_run)
    _refuse_future(wanted, survey, now=now)
    header = _header(wanted, survey, now=now)
    place = folder if out is None else out.parent
    _remove_leftovers(place, now=now)
    temporary = place / f"{TEMPORARY_BEGINNING}{secrets.token_hex(8)}{TEMPORARY_ENDING}"
    try:
        with new_bundle(temporary, header, syncs_each_run=False) as bundle:
            tally, outcomes = _write_runs(bundle, wanted, survey, scenarios, on_run)
            bundle.finish()
        batch = tally.batch(header, truncated_reason=None)
        final = folder / f"import-{batch.content_digest.removeprefix('sha256:')[:16]}{BUNDLE_ENDING}" if out is None else out
        already_there = not _placed(temporary, final)
        if already_there and out is not None:  # made meanwhile
            raise _taken(out)
        if already_there:
            batch = tally.batch(read_header(final), truncated_reason=None)  # by when that one was recorded
    finally:
        with suppress(OSError):
            temporary.unlink()
    return ImportedTraces(
        bundle=str(final),
        already_there=already_there,
        batch=batch,
        scenarios=len(survey.trials),
        outcomes=dict(sorted(outcomes.items())),
        scenarios_without_runs=len(known - set(survey.trials)) if known else 0,
        left_out_runs=survey.left_out,
        derived_ids=survey.derived_ids,
        problems=dict(sorted(survey.problems.items())),
        problem_runs=survey.problem_runs,
        named_problems=tuple(survey.named_problems),
        models=tuple(sorted(survey.models)),
    )


def _check_named_once(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        place = file.absolute().resolve()
        if place in seen:
            raise TraceError("is named twice; its runs are imported once.", file=file)
        seen.add(place)


def _taken(path: Path) -> BundleError:
    return BundleError("is there already, and is not overwritten: name a new file.", file=path)


def _refuse_future(wanted: TraceImport, survey: TraceSurvey, *, now: datetime) -> None:
    """Refuse a trace of the future: its batch would be the newest one for good."""
    if wanted.recorded_at is None and survey.latest is not None and survey.latest > now + LARGEST_CLOCK_SKEW:
        stated = f"{survey.latest:%Y-%m-%d %H:%M} UTC"
        raise TraceError(f"states a time in the future, {stated}; --recorded-at says when it was recorded.", file=wanted.files[0])


def _header(wanted: TraceImport, survey: TraceSurvey, *, now: datetime) -> BatchHeader:
    scenario_set = wanted.scenario_set
    declared = wanted.declared()
    return BatchHeader(
        tenant=wanted.tenant,
        project=wanted.project,
        commit=wanted.commit,
        branch=wanted.branch,
        ci_event=wanted.ci_event,
        agent=wanted.agent or _only(survey.agents) or UNNAMED_AGENT,
        model=wanted.model or _only(survey.models),
        judge=RECORDED_JUDGE if scenario_set is None else STRUCTURAL_JUDGE,
        origin="import",
        recorded_at=wanted.recorded_at or survey.latest or now,
        scenario_set_digest=None if scenario_set is None else scenario_set.digest,
        set_scenarios=None if scenario_set is None else len(scenario_set.scenarios),
        policy=wanted.policy_json,
        scenarios={
            scenario: declared.get(scenario, PlannedScenario()).with_changes(planned_runs=len(trials), leg="live")
            for scenario, trials in sorted(survey.trials.items())
        },
    )


def _write_runs(
    bundle: BundleWriter, wanted: TraceImport, survey: TraceSurvey, scenarios: ScenariosById, on_run: OnRun
) -> tuple[BatchTally, Counter[Outcome]]:
    orders, numbers = survey.orders(), survey.trial_numbers()
    tally, outcomes = BatchTally(), Counter[Outcome]()
    unstated = {file: _changed_at(file) for file in wanted.files} if wanted.recorded_at is None else {}
    for item in found_runs(wanted.files, format_name=wanted.format_name):
        if isinstance(item, TraceError):
            raise item
        (file, traced), trial = numbers.numbered(item)
        if not survey.wants(trial):
            continue
        order = orders.pop((traced.scenario_id, trial), None)
        if order is None:
            raise TraceError("was changed while it was read.", file=file)
        ended_at = traced.created_at or wanted.recorded_at or unstated[file]
        run = _imported_run(traced, order, scenarios, ended_at=ended_at)
        bundle.add(run, traced.trajectory)
        tally.add(run)
        outcomes[run.outcome] += 1
        on_run("written")
    if orders:
        raise TraceError("was changed while it was read.", file=wanted.files[0])
    return tally, outcomes


def _imported_run(traced: TraceRun, order: int, scenarios: ScenariosById, *, ended_at: datetime) -> Run:
    trajectory = traced.trajectory
    grade = traced.grade
    scan = PolicyScan(None)
    unchecked: list[str] = []
    if scenarios is not None and trajectory is not None:
        scenario = scenarios[traced.scenario_id]
        facts = RunFacts(trajectory=trajectory, usage=traced.usage, cost_usd=traced.cost_usd, seconds=traced.seconds)
        grade = _structural_grade(scenario, traced, facts)
        unchecked = unchecked_limit_notes(scenario, facts)
        scan = policy_scan(trajectory, scenario.policies)
    grade = _grade_of_deeds(grade, has_acted=trajectory is not None and trajectory.agent_acted)
    return Run(
        scenario_id=traced.scenario_id,
        order=order,
        created_at=ended_at,
        outcome=grade.outcome,
        reason=_reason(grade, traced, unchecked),
        score_points=grade.score_points,
        assertions=grade.assertions,
        violations=scan.violations,
        scan_given_up=scan.given_up,
        trajectory_digest=None if trajectory is None else trajectory_digest(trajectory),
        tools=() if trajectory is None else trajectory.tools,
        step_count=0 if trajectory is None else len(trajectory.steps),
        usage=traced.usage,
        cost_usd=traced.cost_usd,
        seconds=traced.seconds,
    )


def _grade_of_deeds(grade: TraceGrade, *, has_acted: bool) -> TraceGrade:
    """Return a grade without what cannot be graded: what the agent never did, and the score of a run that has no verdict."""
    if not has_acted and grade.outcome in ("passed", "failed"):
        return TraceGrade(outcome="ungraded", reason=NEVER_ACTED)
    has_score = has_acted and grade.outcome in GRADED_OUTCOMES
    return grade if has_score else grade.with_changes(score_points=None)


def _structural_grade(scenario: Scenario, traced: TraceRun, facts: RunFacts) -> TraceGrade:
    """Return the grade by a scenario's assertions. A run that broke, or stopped at its own limit, keeps that as its outcome."""
    found = grade_structurally(scenario, facts)
    outcome: Outcome = found.outcome
    reason = found.reason or ""
    if traced.grade.outcome in ("agent_error", "budget_stop", "harness_error"):
        outcome, reason = traced.grade.outcome, traced.grade.reason
    elif (limit := passed_limit_words(scenario, facts)) is not None:
        outcome, reason = "budget_stop", limit
    return TraceGrade(
        outcome=outcome,
        reason=reason,
        score_points=found.score_points,
        assertions=found.results,
    )


def _reason(grade: TraceGrade, traced: TraceRun, unchecked_limits: Sequence[str]) -> str | None:
    """Return why a run did not pass, which limit was not checked, and what problems it was imported with; None where there is none."""
    sentences = [] if grade.outcome == "passed" else [grade.reason]
    sentences += unchecked_limits if grade.outcome in ("passed", "failed") else []
    if traced.problems:
        sentences.append(f"imported with problems: {problems_named(traced.problems)}")
    return clip(". ".join(sentence.rstrip(".") for sentence in sentences) + ".", MAX_REASON_CHARS) if sentences else None


def _only(names: set[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def _changed_at(file: Path) -> datetime:
    return datetime.fromtimestamp(int(file.stat().st_mtime), tz=UTC)


def _remove_leftovers(folder: Path, *, now: datetime) -> None:
    """Remove what imports that were killed left behind; those that still run hold a lock on theirs."""
    for path in folder.glob(f"{TEMPORARY_BEGINNING}*{TEMPORARY_ENDING}"):
        with suppress(OSError, BundleError):
            if now.timestamp() - path.stat().st_mtime > LEFT_OVER_AFTER_SECONDS:
                with locked(path.open("r+b", buffering=0), path):
                    path.unlink()


def _placed(temporary: Path, final: Path) -> bool:
    """Give a finished bundle its name; return False where a file has it already, which is left as it is."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror or error}.", file=final) from error
    return True
