"""An `arms run` that has nothing to do: everything is stored, so it makes no call.

Reported as seconds, and as a ratio to a bare interpreter's, which says how fast the machine was at the time.
"""

import sys
from statistics import median

from benchmarks.figures import Figure, spread
from benchmarks.processes import measured
from benchmarks.whole_process import arms_run
from benchmarks.workload import Workload

ALLOWED_SECONDS = 1.5
STATE = "unchanged"


def figures(workload: Workload) -> list[Figure]:
    """Return the wall of the command, its ratio to `python -c pass`, and the calls that reached the server."""
    arms_run(workload, STATE)
    calls_before = sum(workload.server.requests_by_body().values())
    bare, ours = [], []
    for _ in range(workload.size.repeats):
        bare.append(measured((sys.executable, "-c", "pass"), bytecode=workload.bytecode).wall_seconds)
        ours.append(arms_run(workload, STATE).wall_seconds)
    calls = sum(workload.server.requests_by_body().values()) - calls_before
    return [
        Figure("unchanged run, wall", median(ours), "s", ALLOWED_SECONDS, spread(ours)),
        Figure("unchanged run, to a bare interpreter", median(ours) / median(bare), "x", detail=f"which takes {median(bare):.3f} s"),
        Figure("unchanged run, model calls", calls, "calls", 0),
    ]
