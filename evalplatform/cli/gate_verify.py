"""`evalplatform gate verify`: whether a gate's certificate holds, derived again with none of the code that made it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalplatform.gates.verification import Verification

HOLDS, REFUSED = 0, 1


def add_commands(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command("verify")(verify)


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate, or a comparison's JSON that holds one.")],
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Derive a gate's decision again from its certificate alone, with fractions, and say what of it does not hold.

    It needs no project, no store and no network. Exit code 0 when the certificate holds, whatever the gate decided; 1 when it is refused;
    2 when the file cannot be read or holds no certificate.
    """
    from evalplatform.gates.verification import verify_certificate
    from evalplatform.kernel.errors import InputError

    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason[0].lower()}{reason[1:]}.", file=file) from None
    found = verify_certificate(data, file=file)
    if json_result:
        typer.echo(found.model_dump_json(indent=2))
    else:
        for line in _lines(found, file):
            typer.echo(line)
    return HOLDS if found.holds else REFUSED


def _lines(found: "Verification", file: Path) -> list[str]:
    from evalplatform.kernel.text import plural
    from evalplatform.reports.batch_comparison_words import some_scenarios
    from evalplatform.reports.visible import one_line

    if not found.holds:
        refused = f"{file}: refused: {plural(len(found.problems), 'thing')} of it {'does' if len(found.problems) == 1 else 'do'} not hold:"
        return [refused, *(f"  - {one_line(problem)}" for problem in found.problems)]
    gating = f"; failing it: {some_scenarios(found.gating)}" if found.gating else ""
    answer = f"the gate {'fails' if found.fails else 'passes'}{gating}"
    return [
        f"{file}: holds: {answer}.",
        f"Derived again from the counts of {plural(found.scenarios, 'scenario')}: p-values, K, threshold, suite test, answer.",
        f"digest {found.digest}",
    ]
