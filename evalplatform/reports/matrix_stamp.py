"""The stamp that an arms.v1 file of a matrix carries: which cell it is of."""

import json

_OPENING = b"{\n"


def with_matrix_cell(arms_v1: bytes, name: str) -> bytes:
    """Return a file that `arms_v1_bytes` wrote with `matrix_cell` in it, a cell's name (treatment-arms spec, section 8).

    The name is how a matrix calls the cell and no part of the run, so it is in no stored report. Only the first line is touched: a file may
    hold a million answers.
    """
    assert arms_v1.startswith(_OPENING)
    return b'{\n  "matrix_cell": %s,\n%s' % (json.dumps(name).encode("ascii"), arms_v1.removeprefix(_OPENING))
