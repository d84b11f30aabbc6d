"""`python -m benchmarks`: run every benchmark, print one table, and exit with 1 when a bound is missed."""

import argparse
import os
import sys

from benchmarks import (
    backfill,
    batch_comparison,
    batch_push,
    gate_statistics,
    help_page,
    large_artifact,
    million_scores,
    model_compare,
    registered_partitions,
    run_loop,
    unchanged_run,
    whole_process,
)
from benchmarks.figures import Figure, table
from benchmarks.sizes import FULL, SMALL, Size
from benchmarks.workload import prepared

BENCHMARKS = (
    run_loop,
    whole_process,
    unchanged_run,
    help_page,
    large_artifact,
    million_scores,
    backfill,
    registered_partitions,
    model_compare,
    batch_comparison,
    batch_push,
    gate_statistics,
)


def all_figures(size: Size) -> list[Figure]:
    """Return the figures of every benchmark, in the order of `BENCHMARKS`."""
    figures: list[Figure] = []
    with prepared(size) as workload:
        for benchmark in BENCHMARKS:
            print(f"{benchmark.__name__.rpartition('.')[2]} ...", file=sys.stderr, flush=True)
            figures += benchmark.figures(workload)
    return figures


def main() -> int:
    """Run them and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the platform adds to the calls it makes.")
    parser.add_argument("--small", action="store_true", help="small sizes, which show that everything works; their bounds mean little")
    size = SMALL if parser.parse_args().small else FULL
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {size.repeats} repeats")
    figures = all_figures(size)
    print(table(figures))
    return 0 if all(figure.is_kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
