"""What `evalplatform gate` does: run the gate, write what was asked for, tell the CI build, remember it, and answer."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import typer

from evalplatform.adapters.run_origin import is_pull_request, pushed_branch
from evalplatform.cli.batch_diff import agreement_with_labels, report_lines, write_and_say, write_reports
from evalplatform.cli.batches import NO_BATCH
from evalplatform.cli.branch_names import checked_branch
from evalplatform.cli.console import required_project, say
from evalplatform.cli.diff import Sides
from evalplatform.cli.gate_outputs import GateOutputs, annotate, append_summary, told_whatever_ends_it, write_cases
from evalplatform.cli.system_user import system_user
from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.gates.certificate import certificate_bytes
from evalplatform.kernel.errors import InputError
from evalplatform.ports.labels import LabelStore
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import V3Writer
from evalplatform.reports.batch_comparison_view import BatchComparisonReport
from evalplatform.reports.gate_baseline_words import STANDING_WORDS, determinism_words, resolved_words
from evalplatform.reports.gate_cases import flip_case, gate_annotations, gate_cases
from evalplatform.reports.gate_view import GateView
from evalplatform.reports.junit import JUnitCase
from evalplatform.reports.markdown import markdown_text
from evalplatform.reports.workflow_commands import no_command
from evalplatform.runs.remembered_gate import GateStrictness
from evalplatform.stages.batch_diff import first_divergence
from evalplatform.stages.batch_sides import is_bundle_path
from evalplatform.stages.remember_gate import gate_key, remember_gate
from evalplatform.stages.run_gate import GateRequest, GateRun, GateSides, gate_sides, run_gate
from evalplatform.stages.runs_context import RunsContext
from evalplatform.wiring import OpenedProject

PASSES, FAILS, NOT_ANSWERED = 0, 1, 2


def asked_gate(
    *,
    baseline: str | None,
    baseline_branch: str | None,
    candidate: str | None,
    branch: str | None,
    records: bool,
    requires_determinism: bool,
) -> GateRequest:
    """Return the gate that the options ask for, the branch being that of the CI build where none is named.

    Raises:
        InputError: two options ask for different baselines, a branch has no name, or a bundle is remembered or gated against a branch.
    """
    for option, name in (("--baseline-branch", baseline_branch), ("--branch", branch)):
        if name is not None:
            checked_branch(name, option)
    if baseline is not None and baseline_branch is not None:
        raise InputError("names a baseline, and --baseline-branch names another: leave one out.", field="--baseline")
    for option, name in (("--baseline", baseline), ("--candidate", candidate)):
        if name is not None and is_bundle_path(name) and (records or baseline_branch is not None):
            why = "a remembered gate is" if records else "a gate against a branch is"
            raise InputError(f"is a bundle, and {why} of stored batches: `evalplatform push {name}` stores it.", field=option)
    return GateRequest(
        baseline=baseline,
        baseline_branch=baseline_branch,
        candidate=candidate,
        branch=branch or pushed_branch(os.environ),
        takes_recorded_branch=not is_pull_request(os.environ),
        strictness=GateStrictness(require_replay_determinism=requires_determinism),
    )


def decide_gate(asked: GateRequest, outputs: GateOutputs, *, project: Path | None, records: bool) -> int:
    """Run a gate, write what was asked for, print the result, remember it where that is asked for, and return the exit code."""
    inputs = [name for name in (asked.baseline, asked.candidate) if name is not None]
    outputs.check_junit(inputs=inputs)
    with told_whatever_ends_it(outputs, os.environ):
        outputs.check_all(inputs=inputs)
        with _opened(asked, project) as opened:
            context = None if opened is None else opened.runs_context()
            sides = gate_sides(context, asked)
            told = _Rows(wants_json=outputs.prints_json or outputs.json_file is not None)
            try:
                run = run_gate(context, sides, on_row=told.add)
            except InputError:
                if context is not None and records:
                    _remember(sides, context)  # as a failed check, with the reason
                raise
            _report(run, told, outputs, labels=None if opened is None else opened.label_store)
            if context is not None and records:
                _remember(sides, context)
            elif run.gated.is_seed:
                say("nothing is remembered of this gate, so it is no baseline yet: --record remembers it.")
    if not run.gated.is_answered:
        return NOT_ANSWERED
    return FAILS if run.gated.fails else PASSES


@contextmanager
def _opened(asked: GateRequest, project: Path | None) -> Iterator[OpenedProject | None]:
    """Open the project, where the gate needs one."""
    if not asked.needs_project:
        yield None
        return
    with OpenedProject(required_project(project)) as opened:
        # Asked first: opening the store would make a database, also where nothing may be written.
        if asked.reads_stored_batches and not opened.holds_batches():
            raise InputError(NO_BATCH)
        yield opened


class _Rows:
    """Takes in each scenario's row as it is made: into the JSON, where that is wanted, and as a test case. No row is kept."""

    def __init__(self, *, wants_json: bool) -> None:
        self.data = BytesIO()
        self.writer = V3Writer(self.data) if wants_json else None
        self.flips: dict[str, JUnitCase] = {}

    def add(self, row: ScenarioChange) -> None:
        """Take in one row."""
        self.flips[row.scenario_id] = flip_case(row)
        if self.writer is not None:
            self.writer.add(row)


def _report(run: GateRun, told: _Rows, outputs: GateOutputs, *, labels: LabelStore | None) -> None:
    sides, gated, comparison = run.sides, run.gated, run.gated.comparison
    choice = sides.resolution.choice
    shown = Sides(sides.baseline, sides.candidate, choice, labels)
    divergence = first_divergence(comparison, sides.baseline, sides.candidate)
    view = run.view(judge_agreement=agreement_with_labels(gated, shown))

    def report(pages: Mapping[str, str] | None = None) -> BatchComparisonReport:
        return batch_comparison_report(
            comparison, choice=choice, divergence=divergence, diff_pages=pages, gate=view, determinism=gated.determinism
        )

    write_reports(comparison, shown, outputs, report)
    if told.writer is not None:
        told.writer.finish(comparison, choice=choice, divergence=divergence, gate=view, determinism=gated.determinism)
    if outputs.json_file is not None:
        write_and_say(outputs.json_file, told.data.getvalue())
    _write_certificate(view, outputs.certificate)
    cases = gate_cases(comparison, gated.decision, flips=told.flips, determinism=gated.determinism, is_seed=gated.is_seed)
    write_cases(outputs.junit, cases)
    append_summary(os.environ, "\n\n".join([*map(markdown_text, _gate_lines(run)), batch_comparison_markdown(report())]))
    annotate(os.environ, list(gate_annotations(cases, gated.decision)))
    with suppress(BrokenPipeError):  # whoever read it has gone, as `| head` does; the gate is remembered all the same
        if outputs.prints_json:
            typer.echo(told.data.getvalue().decode(), nl=False)
        else:
            for line in (*_gate_lines(run), *report_lines(report())):
                typer.echo(no_command(line))


def _gate_lines(run: GateRun) -> Iterator[str]:
    """Yield what stands above the report: where the baseline came from, and what running the replays again showed.

    Nothing where a gate policy decides: the report's block of the gate says it.
    """
    if run.gated.decision is not None:
        return
    resolution, determinism = run.sides.resolution, run.gated.determinism
    if resolution.choice != "named":
        yield resolved_words(resolution.batch, resolution.choice, branch=resolution.branch, gate=resolution.gate)
    if determinism is not None:
        yield determinism_words(determinism)


def _write_certificate(view: GateView | None, path: Path | None) -> None:
    if path is not None and view is not None:
        write_and_say(path, certificate_bytes(view.certificate))
    elif path is not None:
        say(f"{path} was not written: no gate policy decides this gate, so there is nothing to certify")


def _remember(sides: GateSides, context: RunsContext) -> None:
    """Remember the gate, as the platform computes it itself, and say so."""
    report = sides.report(gate_key(os.environ, baseline=sides.baseline.batch.id, candidate=sides.candidate.batch.id))
    added = remember_gate(context, report, actor=system_user())
    branch = "without a branch" if report.branch is None else f"on {report.branch}"
    state = "already remembered, nothing changed" if added.already_there else f"remembered {branch}"
    say(f"gate {report.key}: {state}; {STANDING_WORDS[added.gate.standing]}")
