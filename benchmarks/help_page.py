"""`evalplatform --help`: what a user waits for before anything happens."""

from statistics import median

from benchmarks.figures import Figure, spread
from benchmarks.processes import EVALPLATFORM, measured
from benchmarks.workload import Workload

ALLOWED_SECONDS = 0.5


def figures(workload: Workload) -> list[Figure]:
    """Return the wall of the help page."""
    command = (*EVALPLATFORM, "--help")
    measured(command, bytecode=workload.bytecode)  # compiles the modules
    walls = [measured(command, bytecode=workload.bytecode).wall_seconds for _ in range(workload.size.repeats)]
    return [Figure("--help, wall", median(walls), "s", ALLOWED_SECONDS, spread(walls))]
