"""The flags that name cells of a matrix file."""

from dataclasses import replace

from evalplatform.cli.run_flags import MATRIX_FLAG, ArmsRunFlags
from evalplatform.kernel.errors import InputError
from evalplatform.project.matrix_file import named_cell, read_matrix_cells, refuse_other_harnesses

CELL_FLAG = "--matrix-cell"
SAID_BY_CELL = ("cell", "model", "provider", "harness", "plugins")
OF_MATRIX_FILE = ("max_tokens", "temperature", "seed")


def with_matrix_cell(flags: ArmsRunFlags, name: str | None) -> ArmsRunFlags:
    """Return the flags of `arms run` with the cell that `--matrix-cell` names; unchanged where neither it nor a file is told.

    Raises:
        InputError: one of the two flags alone, a flag that says what the cell says, or a file that cannot be used.
        UnknownNameError: no such cell, with the nearest.
    """
    if flags.matrix_file is None and name is None:
        return flags
    if flags.matrix_file is None:
        raise InputError(f"is needed with {CELL_FLAG}: the file that the cell is in.", field=MATRIX_FLAG)
    if name is None:
        raise InputError(f"is needed with {MATRIX_FLAG}: which of its cells to run; `arms matrix-run` runs them all.", field=CELL_FLAG)
    for flag in SAID_BY_CELL:
        if getattr(flags, flag) is not None:
            raise InputError(f"cannot be told beside {CELL_FLAG}: the cell says it.", field=f"--{flag}")
    return replace(flags, matrix_cells=(named_cell(read_matrix_cells(flags.matrix_file), name, file=flags.matrix_file),))


def with_whole_matrix(flags: ArmsRunFlags) -> ArmsRunFlags:
    """Return the flags of `arms matrix-run` with every cell of its file; without a file, with every cell of the suite.

    Raises:
        InputError: the file cannot be used, a cell of it is to run in another program, or sampling is told for a suite's own cells.
    """
    if flags.matrix_file is not None:
        cells = read_matrix_cells(flags.matrix_file)
        refuse_other_harnesses(cells, file=flags.matrix_file)
        return replace(flags, matrix_cells=cells)
    for flag in OF_MATRIX_FILE:
        if getattr(flags, flag) is not None:
            raise InputError(
                f"is for the cells of {MATRIX_FLAG}; a suite's own cells have their sampling in the project file.",
                field=f"--{flag.replace('_', '-')}",
            )
    return replace(flags, every_cell=True)
