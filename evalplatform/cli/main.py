"""The `evalplatform` command: its tree, and what its exit codes mean.

Exit codes, the same for every command: 0 yes or done, 1 the answer is no, 2 could not be answered (bad input, refusals, failures, and
whatever nobody foresaw), 130 interrupted.
"""

import os
import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from evalplatform import __version__
from evalplatform.cli import (
    arms,
    assets,
    backfill,
    batch,
    batches,
    cross_judge,
    diff,
    doctor,
    gate,
    import_,
    judge,
    labels,
    ledger,
    monitor,
    project,
    push,
    report,
    run_scenarios,
    secrets,
    sentinel,
    serve,
    sync,
)
from evalplatform.cli.replication import OPTION, REMOVED
from evalplatform.kernel.errors import EvalplatformError, InterruptedRecordingError, StorageUnavailableError, nearest_name

DONE = 0
NO = 1
NOT_ANSWERED = 2
INTERRUPTED = 130  # what typer makes of Ctrl-C
DEBUG_VARIABLE = "EVALPLATFORM_DEBUG"  # as project.deployment has it, whose import would double what --help takes
_DONE_IN_ONE_GO = frozenset({"batches", "diff", "gate", "import"})  # these read, or begin anew: there is nothing that they could go on with
_NO_CHOICE = re.compile(r"'(?P<value>[^']*)' is not one of (?P<known>.+)\.$")

app = typer.Typer(
    name="evalplatform",
    help="Evaluate agents as data assets: answers, scores and deltas, each number with its uncertainty.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evalplatform {__version__}")
        raise typer.Exit


@app.callback()
def _evalplatform(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


app.add_typer(arms.app, name="arms")
app.add_typer(assets.app, name="assets")
app.add_typer(batch.app, name="batch")
app.add_typer(batches.app, name="batches")
app.add_typer(gate.app, name="gate")
app.add_typer(judge.app, name="judge")
app.add_typer(labels.app, name="labels")
app.add_typer(ledger.app, name="ledger")
app.add_typer(monitor.app, name="monitor")
app.add_typer(report.app, name="report")
app.add_typer(secrets.app, name="secrets")
project.add_commands(app)
serve.add_commands(app)
doctor.add_commands(app)
sync.add_commands(app)
backfill.add_commands(app)
cross_judge.add_commands(app)
run_scenarios.add_commands(app)
push.add_commands(app)
import_.add_commands(app)
diff.add_commands(app)
sentinel.add_commands(app)


def exit_code(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; errors are printed to standard error, as one message each."""
    try:
        result = typer.main.get_command(app).main(args=list(arguments), prog_name="evalplatform", standalone_mode=False)
    except TyperException as error:
        if error.format_message():  # without a command, the help has been printed and there is nothing to add
            typer.echo(f"error: {_usage_words(error.format_message())}", err=True)
        return NOT_ANSWERED
    except InterruptedRecordingError as error:
        typer.echo(f"interrupted: {error}", err=True)
        return INTERRUPTED
    except EvalplatformError as error:
        typer.echo(f"error: {error}", err=True)
        if isinstance(error, StorageUnavailableError) and not _DONE_IN_ONE_GO.intersection(arguments[:1]):
            typer.echo("What is finished is kept: once that is mended, the same command goes on from there.", err=True)
        return NOT_ANSWERED
    except (typer.Abort, BrokenPipeError):
        return NOT_ANSWERED
    except Exception as error:
        return _unforeseen(error)
    if result == INTERRUPTED:
        typer.echo("interrupted: what is finished is kept; the same command goes on from there.", err=True)
    return result if isinstance(result, int) else DONE


def _usage_words(message: str) -> str:
    """Return what a flag's value breaks without the words of the library that checks it, and with the nearest of the values it may have."""
    if message.startswith(f"Option {OPTION!r}"):  # with a value, as it was once given
        return f"{OPTION}: {REMOVED}"
    message = message.replace("Value error, ", "").replace("Input should", "must")
    choice = _NO_CHOICE.search(message)
    nearest = None if choice is None else nearest_name(choice["value"], re.findall(r"'([^']*)'", choice["known"]))
    return message if nearest is None else f"{message} Did you mean {nearest!r}?"


def run() -> None:
    """Run the command line of this process and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal's encoding cannot show is shown escaped, instead of ending the command
            stream.reconfigure(errors="backslashreplace")
    code = exit_code(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends
    sys.exit(code)


def _unforeseen(error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        raise error
    typer.echo(f"error: something unforeseen went wrong: {type(error).__name__}: {error}", err=True)
    typer.echo(f"Set {DEBUG_VARIABLE}=1 to see where; please report it.", err=True)
    return NOT_ANSWERED
