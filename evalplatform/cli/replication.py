"""`--replication`, which is no more: a command line that still has it is told so, instead of being gated by another rule unawares."""

from typing import Annotated

import typer

OPTION = "--replication"
REMOVED = "was removed: one significant comparison is enough, so no drop has to be shown a second time."


def _refuse(wanted: bool) -> None:
    if wanted:
        from evalplatform.kernel.errors import InputError

        raise InputError(REMOVED, field=OPTION)


ReplicationOption = Annotated[bool, typer.Option(OPTION, hidden=True, is_eager=True, callback=_refuse)]
