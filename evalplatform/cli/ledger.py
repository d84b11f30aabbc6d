"""`evalplatform ledger`: what finished calls there are, out of the database into a file, and old ones away."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.ports.purposes import Purpose

if TYPE_CHECKING:
    from evalplatform.ports.ledger import CallKey, CallSelection, Ledger, LedgerRow
    from evalplatform.wiring import OpenedProject

LEAST_DIGITS = 8
SHOWN_DIGESTS = 5
_DIGEST_START = re.compile(rf"(?:sha256:)?([0-9a-f]{{{LEAST_DIGITS},64}})")

app = typer.Typer(help="Finished model calls: show, export and prune them.", no_args_is_help=True)

ScopeOption = Annotated[str | None, typer.Option(help="Only this scope, such as shared.")]
PurposeOption = Annotated[Purpose | None, typer.Option(help="Only calls made for this.")]
SinceOption = Annotated[str | None, typer.Option(metavar="DATE", help="Only calls finished then or later, such as 2026-01-31 (UTC).")]
ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("show")
def show(
    digest: Annotated[str | None, typer.Argument(metavar="[DIGEST]", help="A request digest, or its first 8 hex digits or more.")] = None,
    scope: ScopeOption = None,
    purpose: PurposeOption = None,
    since: SinceOption = None,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Show what the ledger holds, by purpose, provider, model, scope and day; or one call in full. Exit code 1 when there is none."""
    from evalplatform.cli.console import required_project
    from evalplatform.ports.ledger import CallSelection
    from evalplatform.wiring import OpenedProject

    selection = CallSelection(scope=scope, purpose=purpose, since=_moment(since, "--since"), digest_start=_digest_start(digest))
    with OpenedProject(required_project(project)) as opened:
        ledger = _existing_ledger(opened)
        if digest is None:
            return _show_overview(ledger, selection, as_json=json_result)
        return _show_calls(asyncio.run(_listed(ledger, selection)), digest, as_json=json_result)


@app.command("export")
def export(
    out: Annotated[Path, typer.Option(help="New file: .jsonl, or .jsonl.zst to compress it.")],
    scope: ScopeOption = None,
    purpose: PurposeOption = None,
    since: SinceOption = None,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Write every call to a file, one JSON line each, replies included; as a whole or not at all. Exit code 1 when there is none."""
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.ledger_archive import check_archive_path, write_archive
    from evalplatform.ports.ledger import CallSelection
    from evalplatform.wiring import OpenedProject

    check_archive_path(out, field="--out")
    selection = CallSelection(scope=scope, purpose=purpose, since=_moment(since, "--since"))
    with OpenedProject(required_project(project)) as opened:
        ledger = _existing_ledger(opened)
        written = asyncio.run(write_archive(out, ledger.rows(selection)))
    typer.echo(orjson.dumps({"file": str(out), "calls": written}).decode() if json_result else f"{out}: {plural(written, 'call')}")
    return 0 if written else 1


@app.command("prune")
def prune(
    before: Annotated[str, typer.Option(metavar="DATE", help="Delete calls finished before that day (UTC) or moment.")],
    scope: ScopeOption = None,
    purpose: PurposeOption = None,
    export: Annotated[Path | None, typer.Option(help="New file that the calls are written to before they are deleted.")] = None,
    no_export: Annotated[bool, typer.Option("--no-export", help="Delete them for good, without a file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would be deleted.")] = False,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Delete old calls, after writing them to a file. A rerun that needs one asks, and pays for, it again.

    Exit code 1 without --yes: nothing was deleted.
    """
    import orjson

    from evalplatform.calls.ledger_overview import ledger_overview
    from evalplatform.cli.console import required_project
    from evalplatform.cli.ledger_archive import check_archive_path
    from evalplatform.cli.ledger_lines import prune_lines
    from evalplatform.ports.ledger import CallSelection
    from evalplatform.stages.ledger_references import calls_behind_answers
    from evalplatform.wiring import OpenedProject

    if (export is None) != no_export:
        raise InputError("takes --export FILE, which keeps the calls, or --no-export, which does not; one of them.", field="prune")
    if export is not None:
        check_archive_path(export, field="--export")
    with OpenedProject(required_project(project)) as opened:
        ledger = _existing_ledger(opened)
        selection = CallSelection(scope=scope, purpose=purpose, before=_past(before, opened))
        sums = ledger_overview(asyncio.run(ledger.groups(selection))).total
        behind = asyncio.run(calls_behind_answers(ledger, opened.catalog, selection)) if sums.calls else 0
        deleted = asyncio.run(_pruned(ledger, selection, export)) if yes and sums.calls else 0
    if json_result:
        result = {**sums.model_dump(mode="json"), "behind_current_answers": behind, "deleted": deleted, "export": export and str(export)}
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in prune_lines(sums, behind=behind, deleted=deleted, export=export, done=yes):
            typer.echo(line)
    return 0 if yes or not sums.calls else 1


def _existing_ledger(opened: "OpenedProject") -> "Ledger":
    """Return the project's ledger; InputError where its file is not there: opening it would make an empty one, at a mistyped path too."""
    from evalplatform.wiring import SQLITE_PREFIX

    url = opened.database_url
    if url.startswith(SQLITE_PREFIX) and not (file := Path(url.removeprefix(SQLITE_PREFIX))).exists():
        raise InputError("is not there: no run has made it yet, or `database` names another file.", file=file, field="database")
    return opened.ledger


def _show_overview(ledger: "Ledger", selection: "CallSelection", *, as_json: bool) -> int:
    from evalplatform.calls.ledger_overview import ledger_overview
    from evalplatform.cli.ledger_lines import overview_lines

    overview = ledger_overview(asyncio.run(ledger.groups(selection)))
    typer.echo(overview.model_dump_json(indent=2) if as_json else "\n".join(overview_lines(overview)))
    return 0 if overview.total.calls else 1


def _show_calls(rows: "list[LedgerRow]", digest: str, *, as_json: bool) -> int:
    """Print the calls of one request; InputError where several requests have a digest that begins so."""
    import orjson

    from evalplatform.cli.console import say
    from evalplatform.cli.ledger_lines import call_lines

    digests = sorted({row.key.request_digest for row in rows})
    if len(digests) > 1:
        shown = ", ".join(digests[:SHOWN_DIGESTS]) + (", ..." if len(digests) > SHOWN_DIGESTS else "")
        raise InputError(f"{digest} begins {len(digests):,} digests: {shown}. Give more digits of one.", field="DIGEST")
    if as_json:
        typer.echo(orjson.dumps([row.model_dump(mode="json") for row in rows], option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo("\n\n".join("\n".join(call_lines(row)) for row in rows), nl=bool(rows))
    if not rows:
        say(f"error: no call of the ledger has a digest that begins with {digest}.")
    return 0 if rows else 1


async def _listed(ledger: "Ledger", selection: "CallSelection") -> "list[LedgerRow]":
    return [row async for row in ledger.rows(selection)]


async def _pruned(ledger: "Ledger", selection: "CallSelection", export: Path | None) -> int:
    """Delete the calls, and no others than those that the export holds where there is one; return how many."""
    from evalplatform.calls.ledger_removal import remove_calls
    from evalplatform.cli.ledger_archive import archived_keys, write_archive

    if export is None:
        return await remove_calls(ledger, _keys(ledger, selection))
    await write_archive(export, ledger.rows(selection))
    return await remove_calls(ledger, archived_keys(export))


async def _keys(ledger: "Ledger", selection: "CallSelection") -> "AsyncIterator[CallKey]":
    async for row in ledger.rows(selection):
        yield row.key


def _digest_start(digest: str | None) -> str | None:
    if digest is None:
        return None
    match = _DIGEST_START.fullmatch(digest.lower())
    if match is None:
        raise InputError(f"{digest!r} is no request digest, and not the first {LEAST_DIGITS} hex digits or more of one.", field="DIGEST")
    return f"sha256:{match[1]}"


def _moment(text: str | None, flag: str) -> datetime | None:
    """Return a day's first moment in UTC, or the moment that is written out with its time zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is no date: write 2026-01-31, or 2026-01-31T18:00:00+02:00.", field=flag) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _past(text: str, opened: "OpenedProject") -> datetime | None:
    """Return the moment; InputError where it is still to come: calls that are made meanwhile would go with it."""
    moment = _moment(text, "--before")
    if moment is not None and moment > opened.clock.now():
        raise InputError(f"{text} is still to come; calls that are being made would be deleted.", field="--before")
    return moment
