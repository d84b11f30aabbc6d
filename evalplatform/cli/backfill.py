"""`evalplatform backfill`: make what is missing, incomplete or stale."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalplatform.kernel.text import plural

if TYPE_CHECKING:
    from evalplatform.cli.orchestration.backfill import BackfillOutcome, CallsMade
    from evalplatform.project.load import Project
    from evalplatform.stages.backfill import BackfillPlan, BackfillWork
    from evalplatform.stages.report_findings import ReportFindings
    from evalplatform.wiring import OpenedProject


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file to the root command."""
    app.command("backfill")(backfill)


def backfill(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    judge: Annotated[str | None, typer.Option(help="Score stored answers by this judge, and ask no answer.")] = None,
    cell: Annotated[str | None, typer.Option(help="Only this cell.")] = None,
    submit: Annotated[bool, typer.Option("--submit", help="Hand it to the Dagster daemon instead of running it here.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print partitions, calls and price, and make nothing.")] = False,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Make every partition that is missing, incomplete or stale, through Dagster.

    What is finished stays when others fail; the same command then makes the rest. Exit code 2 when something failed, when under 95% of the
    questions were scored in every arm, or when --judge found no cell with answers to score; a refused comparison is a warning. The Dagster
    instance is that of DAGSTER_HOME where it is set, otherwise the project's own.
    """
    from evalplatform.cli.console import required_project, say
    from evalplatform.wiring import OpenedProject

    found = required_project(project)
    with OpenedProject(found) as opened:
        works = chosen_works(opened, suite=suite, judge=judge, cell=cell)
        to_make = [work for work in works if work.partitions]
        if dry_run:
            return _told_plan(opened, works, as_json=json_result)
        kept = _found_in_kept(opened, works)
    for line in left_out_lines(works):
        say(line)
    if not to_make:
        return _told_nothing(works, kept, as_json=json_result)
    if submit:
        return _submitted(found, to_make, as_json=json_result)
    return _run(found, works, to_make, kept, as_json=json_result)


def chosen_works(opened: "OpenedProject", *, suite: str | None, judge: str | None, cell: str | None) -> list["BackfillWork"]:
    """Return the work of every suite that the flags ask for.

    Raises:
        UnknownNameError: no such suite; or no suite asked for has that judge or cell.
        ProjectFileError: the project has no suite.
    """
    import asyncio

    from evalplatform.kernel.errors import ProjectFileError, UnknownNameError
    from evalplatform.stages.backfill import backfill_work

    settings = opened.project.settings
    suites = dict(settings.suites) if suite is None else {suite: opened.project.suite(suite)}
    if not suites:
        raise ProjectFileError("the project has no suite, so there is nothing to make.", file=opened.project.file, field="suites")
    for noun, wanted in (("judge", judge), ("cell", cell)):
        if wanted is not None:
            known = {name for one in suites.values() for name in getattr(one, f"{noun}s")}
            if wanted not in known:
                raise UnknownNameError(f"{noun} of {'a suite' if suite is None else f'suite {suite}'}", wanted, known, field=f"--{noun}")
            suites = {name: one for name, one in suites.items() if wanted in getattr(one, f"{noun}s")}
    return [asyncio.run(backfill_work(opened.suite_context(name), cell=cell, judge=judge)) for name in suites]


def work_lines(work: "BackfillWork") -> Iterator[str]:
    """Yield what a suite's backfill makes: a line for each asset and reason, with the partitions that it concerns."""
    from evalplatform.cli.results import some
    from evalplatform.reports.state_words import why

    yield f"suite {work.suite}: {plural(len(work.partitions), 'partition')} to make, {work.fresh:,} fresh"
    groups: dict[tuple[str, str], list[str]] = {}
    for state in work.partitions:
        groups.setdefault((state.asset, why(state.state, state.because)), []).append(state.partition)
    for (asset, reason), partitions in groups.items():
        yield f"  {asset}: {len(partitions):,} {reason}: {some(partitions)}"


def left_out_lines(works: "Sequence[BackfillWork]") -> Iterator[str]:
    """Yield a line for each reason why cells are left out."""
    from evalplatform.cli.results import some

    for work in works:
        cells: dict[tuple[str, str], list[str]] = {}
        for left in work.left_out:
            cells.setdefault((left.judge, left.reason), []).append(left.cell)
        for (judge, reason), ids in cells.items():
            yield f"left out of {work.suite}: {plural(len(ids), 'cell')} that {judge} cannot score, since {reason}: {some(ids)}"


def _all_left_out(works: "Sequence[BackfillWork]") -> bool:
    """Whether there was nothing to score at all: cells were left out, and no other was there."""
    return any(work.left_out for work in works) and not any(work.partitions or work.fresh for work in works)


def _print_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _work_json(work: "BackfillWork") -> dict[str, Any]:
    return work.model_dump(mode="json")


def _told_plan(opened: "OpenedProject", works: "Sequence[BackfillWork]", *, as_json: bool) -> int:
    """Print what would be made and asked; return the exit code."""
    import asyncio

    from evalplatform.stages.backfill import plan_backfill

    plans = [asyncio.run(plan_backfill(opened.suite_context(work.suite), work)) for work in works]
    if as_json:
        _print_json([{**plan.model_dump(mode="json"), "price_usd": plan.price_usd} for plan in plans])
    else:
        for plan in plans:
            for line in (*work_lines(plan.work), *left_out_lines([plan.work]), *_planned_lines(plan)):
                typer.echo(line)
    return 2 if _all_left_out(works) else 0


def _planned_lines(plan: "BackfillPlan") -> Iterator[str]:
    from evalplatform.cli.results import planned_lines, price_words, spend_cap_lines

    yield from planned_lines("answers", plan.answers)
    yield from planned_lines("scores", plan.judgements)
    asked = [sum(planned.to_ask for planned in stage) for stage in (plan.answers, plan.judgements)]
    yield f"  total: {plural(asked[0], 'answer call')}, {plural(asked[1], 'judge call')} to make, {price_words(plan.price_usd)}"
    yield from spend_cap_lines(plan.spend_cap, plan.price_usd)


def _found_in_kept(opened: "OpenedProject", works: "Sequence[BackfillWork]") -> "ReportFindings":
    """Return what is to be said of comparisons that are fresh: a refusal stands for as long as what was refused does."""
    from evalplatform.stages.report_findings import ReportFindings, found_in_comparisons

    found = ReportFindings()
    for work in works:
        context = opened.suite_context(work.suite)
        found += found_in_comparisons(context, (context.upstream(state.asset, state.partition) for state in work.kept))
    return found


def _told_nothing(works: "Sequence[BackfillWork]", kept: "ReportFindings", *, as_json: bool) -> int:
    """Say that there is nothing to make, and what stands; return 2 where there is nothing because every cell was left out."""
    from evalplatform.cli.console import say
    from evalplatform.cli.results import finding_lines

    fresh = sum(work.fresh for work in works)
    if as_json:
        _print_json({"works": [_work_json(work) for work in works], "partitions": 0, "findings": kept.model_dump(mode="json")})
    elif _all_left_out(works):
        say("error: no cell has answers that can be scored; `evalplatform backfill` without --judge asks for them.")
    else:
        typer.echo(f"nothing to make: {plural(fresh, 'partition')} fresh; {plural(0, 'model call')}")
    for line in finding_lines(kept):
        say(line)
    return 2 if _all_left_out(works) else 0


def _submitted(project: "Project", works: "Sequence[BackfillWork]", *, as_json: bool) -> int:
    """Hand the work to the daemon and say where to watch it."""
    from evalplatform.cli.console import say
    from evalplatform.cli.orchestration.home import dagster_home
    from evalplatform.cli.orchestration.submit import submit_backfill

    home = dagster_home(project, environ=os.environ)
    submitted = {work.suite: submit_backfill(project, home, work) for work in works}
    if as_json:
        _print_json([{"suite": work.suite, "backfill_id": submitted[work.suite], "partitions": len(work.partitions)} for work in works])
        return 0
    for work in works:
        typer.echo(f"backfill {submitted[work.suite]}: {plural(len(work.partitions), 'partition')} of {work.suite}")
        say(f"watch it in the Dagster UI at /runs/b/{submitted[work.suite]}")
    say("A Dagster daemon has to be running, such as that of `evalplatform dev`: it takes the backfill up within half a minute.")
    return 0


def _run(
    project: "Project", works: "Sequence[BackfillWork]", to_make: "Sequence[BackfillWork]", kept: "ReportFindings", *, as_json: bool
) -> int:
    """Run the work here, print what came of it and what stands beside it, and return the exit code."""
    from evalplatform.cli.console import say, shown_progress
    from evalplatform.cli.orchestration.backfill import run_backfill
    from evalplatform.cli.orchestration.home import dagster_home
    from evalplatform.cli.results import finding_lines, some

    home = dagster_home(project, environ=os.environ)
    with shown_progress() as on_progress:
        made = run_backfill(project, home, to_make, on_progress=on_progress)
    outcome = made.with_changes(findings=made.findings + kept)
    if as_json:
        _print_json({**outcome.model_dump(mode="json"), "works": [_work_json(work) for work in works]})
    else:
        for line in outcome_lines(outcome):
            typer.echo(line)
    for failed in outcome.failed:
        say(f"error: {failed.suite} {failed.partition}: {failed.reason}")
    if outcome.incomplete:
        say(f"error: calls failed in {some(outcome.incomplete)}; the same command asks only those again.")
    for line in finding_lines(outcome.findings):
        say(line)
    return 2 if outcome.failed or outcome.incomplete or outcome.findings.shortfalls else 0


def outcome_lines(outcome: "BackfillOutcome") -> Iterator[str]:
    """Yield what a backfill did: partitions, then the calls of answers and of judges."""
    failed = f", {len(outcome.failed):,} failed" if outcome.failed else ""
    yield f"made {outcome.finished:,} of {plural(outcome.partitions, 'partition')}{failed}"
    yield f"answer calls made: {_calls_words(outcome.answer_calls)}"
    yield f"judge calls made: {_calls_words(outcome.judge_calls)}"


def _calls_words(made: "CallsMade") -> str:
    unpriced = f", {made.unpriced_calls:,} of unknown price" if made.unpriced_calls else ""
    return f"{made.calls:,}, ${made.known_usd:,.4f} paid{unpriced}, {made.replayed:,} replayed from the ledger"
