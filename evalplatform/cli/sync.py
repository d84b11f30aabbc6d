"""`evalplatform sync`: bring the Dagster instance in line with the project file and the store, now."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption
from evalplatform.kernel.text import plural

if TYPE_CHECKING:
    from evalplatform.cli.orchestration.sync import CodeLocation, ReportedCheck, SyncedBatches, SyncedKey, SyncedSuite, SyncReport


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file to the root command."""
    app.command("sync")(sync)


def sync(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Register new cells, judges and batches as partitions, retire what is gone, and show Dagster what the store holds. Asks no model.

    The instance is that of DAGSTER_HOME where it is set, otherwise the project's own.
    """
    from evalplatform.cli.console import required_project
    from evalplatform.cli.orchestration.home import dagster_home
    from evalplatform.cli.orchestration.sync import sync_project

    found = required_project(project)
    report = sync_project(found, dagster_home(found, environ=os.environ), dry_run=dry_run)
    if json_result:
        import orjson

        result = report.model_dump(mode="json")
        result["code_location"]["needs_reload"] = report.code_location.needs_reload
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in report_lines(report):
            typer.echo(line)
    return 0


def report_lines(report: "SyncReport") -> Iterator[str]:
    """Yield what was done, or would be, suite by suite, and what is known of the code location."""
    for suite in report.suites:
        lines = list(_suite_lines(suite, would="would be " if report.dry_run else ""))
        yield from lines or [f"{suite.suite}: everything is as the project file asks"]
    would = "would be " if report.dry_run else ""
    yield from _batch_lines(report.batches, would=would)
    yield from _reported_lines("nights", report.nights.reported, report.nights.reported_checks, would=would)
    yield _location_line(report.code_location)


def _batch_lines(batches: "SyncedBatches", *, would: str) -> Iterator[str]:
    from evalplatform.cli.results import some

    if batches.added:
        noun = "batch" if len(batches.added) == 1 else "batches"
        yield f"batches: {would}added: {len(batches.added):,} {noun} ({some(batches.added)})"
    yield from _reported_lines("batches", batches.reported, batches.reported_checks, would=would)


def _suite_lines(suite: "SyncedSuite", *, would: str) -> Iterator[str]:
    for word, keys in (("added", suite.added), ("retired", suite.retired)):
        for key in keys:
            yield f"{suite.suite}: {would}{word}: {key_words(key)}"
    for key in suite.in_use:
        yield f"{suite.suite}: retired when the runs that name it have ended: {key_words(key)}"
    yield from _reported_lines(suite.suite, suite.reported, suite.reported_checks, would=would)


def _reported_lines(of: str, reported: Sequence[str], checks: Sequence["ReportedCheck"], *, would: str) -> Iterator[str]:
    from evalplatform.cli.results import some

    if reported:
        partitions = plural(len(reported), "partition")
        yield f"{of}: {would}reported to Dagster from the store: {partitions} that it did not know as materialized"
    if checks:
        failed = [f"{check.check} of {check.path.partition('/')[2]}" for check in checks if not check.passed]
        results = f"{plural(len(checks), 'check result')} that it did not know"
        yield f"{of}: {would}reported to Dagster from the store: {results}{f', failed: {some(failed)}' if failed else ''}"


def key_words(key: "SyncedKey") -> str:
    """Return a key with what it stands for, in a line."""
    labels = ", ".join(f"{name} {value[:19]}" for name, value in key.labels.items())
    known = f"{key.id}: {labels}" if key.id is not None else "never registered, so nothing more is known of it"
    return f"{key.owner.replace('_', ' ')} {key.key} ({known})"


def _location_line(location: "CodeLocation") -> str:
    if location.looked_at is None:
        return "code location: its partitions sensor has not looked at this project yet, so it is not known whether it needs a reload"
    seen = f"(as seen {location.looked_at:%Y-%m-%d %H:%M:%S} UTC)"
    if not location.needs_reload:
        return f"code location: has every suite, no reload needed {seen}"
    parts = []
    if location.missing_suites:
        parts.append(f"has no assets yet of {', '.join(location.missing_suites)}")
    if location.missing_comparisons:
        parts.append(f"has no {', '.join(location.missing_comparisons)} yet")
    if location.missing_agent_side:
        parts.append(f"has no assets yet of {' and '.join(location.missing_agent_side)}")
    if location.extra_suites:
        parts.append(f"still shows {', '.join(location.extra_suites)}")
    return f"code location: needs a reload: it {' and '.join(parts)} {seen}"
