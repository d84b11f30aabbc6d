"""Four runs beside each other: our `report model-compare` and that of the tool that arms.v1 comes from, on the same files.

In process both have imported everything and hold the files as parsed JSON; what is timed is all that comes after, from taking the rows out
of it to the written report, in CPU seconds, which a busy machine stretches least. Each side is a process of its own and says its seconds in
its last line; ours is `python -m benchmarks.model_compare TIMES REPORT FILE...`. Whole commands are measured by the clock, pair by pair.
What needs the other tool is left out by name where it cannot be installed.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.figures import Figure, ratio_figure
from benchmarks.processes import EVALPLATFORM, measured
from benchmarks.workload import Workload
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.compared_run_file import compared_run_of
from evalplatform.reports.model_comparison_report import model_comparison_page
from evalplatform.reports.page import page_markdown
from tests.interop.reference_tool import PACKAGE, VERSION, installed_reference
from tests.support.model_runs import run_file

RUNS = 4
ALLOWED_TO_REFERENCE = 1 / 20
ALLOWED_COMMAND_RATIO = 1.0
ALLOWED_TIME_RATIO = 2.3
LEVELS = ("easy", "medium", "hard")
OUR_TIMES, THEIR_TIMES = 7, 2
ANSWER = "The pipeline waits between tries, doubles the wait up to a limit, and records each failure. " * 5

# It prints where the report went, so the seconds come last. The first of two runs loads what is loaded late.
REFERENCE_PROGRAM = """
import sys, time
from dokimi.report import model_compare as tool
times, report, paths = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
runs = [(f"run{place}", tool.load_run(path)) for place, path in enumerate(paths)]
for _ in range(times):
    started = time.process_time()
    warnings = tool.check_run_consistency(runs, "regular", None, pool_replicates=False)
    tool.generate_combined_report(runs, [], [name for name, _ in runs], report, treatment_arm=None, correction="holm",
                                  pool_replicates=False, warnings=warnings)
    seconds = time.process_time() - started
print(seconds)
"""


def figures(workload: Workload) -> list[Figure]:
    """Return our time to the other tool's in process and as whole commands, and our time for twice as many questions."""
    questions = workload.size.compared_questions
    whole, double = (_files(workload.folder, number) for number in (questions, 2 * questions))
    name = f"model-compare, {RUNS} runs x {questions:,} questions"
    made = []
    reference = installed_reference()
    if reference is None:
        print(f"left out: {name} against {PACKAGE} {VERSION}, which cannot be installed here", file=sys.stderr)
    else:
        made += _against(reference, workload, whole, name)
    pairs = [(_our_seconds(workload, double), _our_seconds(workload, whole)) for _ in range(workload.size.repeats)]
    ratio = median(one / other for one, other in pairs)
    detail = ", ".join(f"{one * 1000:.0f} ms to {other * 1000:.0f}" for one, other in pairs)
    return [*made, Figure(f"model-compare, {2 * questions:,} questions to {questions:,}, CPU", ratio, "x", ALLOWED_TIME_RATIO, detail)]


def _against(reference: Path, workload: Workload, files: Sequence[Path], name: str) -> list[Figure]:
    ours, theirs, our_walls, their_walls = [], [], [], []
    for _ in range(workload.size.repeats):
        ours.append(_our_seconds(workload, files))
        theirs.append(_their_seconds(reference, workload, files))
        arguments = ("report", "model-compare", "--regular-runs", *map(str, files), "--run-ids", "a,b,c,d")
        our_walls.append(_wall((*EVALPLATFORM, *arguments, "--out", str(workload.folder / "ours.md")), workload))
        their_walls.append(_wall((str(reference), "-m", PACKAGE, *arguments, "--out", str(workload.folder / "theirs.md")), workload))
    return [
        ratio_figure(f"{name}, in process, CPU, to {PACKAGE}", ours, theirs, unit="CPU s", allowed=ALLOWED_TO_REFERENCE),
        ratio_figure(f"{name}, whole command, to {PACKAGE}", our_walls, their_walls, unit="s", allowed=ALLOWED_COMMAND_RATIO),
    ]


def _our_seconds(workload: Workload, files: Sequence[Path]) -> float:
    command = (sys.executable, "-m", "benchmarks.model_compare", str(OUR_TIMES), str(workload.folder / "ours.md"), *map(str, files))
    return float(measured(command, bytecode=workload.bytecode).output.splitlines()[-1])


def _their_seconds(reference: Path, workload: Workload, files: Sequence[Path]) -> float:
    command = (str(reference), "-c", REFERENCE_PROGRAM, str(THEIR_TIMES), str(workload.folder / "theirs.md"), *map(str, files))
    return float(measured(command, bytecode=workload.bytecode, folder=workload.folder).output.splitlines()[-1])


def _wall(command: Sequence[str], workload: Workload) -> float:
    return measured(command, bytecode=workload.bytecode, folder=workload.folder).wall_seconds


def _files(folder: Path, questions: int) -> list[Path]:
    place = folder / f"compared-{questions}"
    place.mkdir(exist_ok=True)
    return [_written(place, f"model-{number}", questions, Random(number)) for number in range(RUNS)]


def _written(folder: Path, name: str, questions: int, random: Random) -> Path:
    points = {
        arm: [round(min(100.0, max(0.0, random.gauss(mean, 15.0))), 1) for _ in range(questions)]
        for arm, mean in (("baseline", 60.0), ("docs", 63.0))
    }
    path = run_file(folder, name, points, difficulty=[LEVELS[number % len(LEVELS)] for number in range(questions)])
    data = json.loads(path.read_bytes())
    for row in data["answers"]:
        for record in row["arms"].values():
            record["answer"] = ANSWER
    path.write_text(json.dumps(data, indent=2))
    return path


def main() -> None:
    """Compare the files several times, and print the median CPU seconds of all but the first."""
    times, report, *paths = sys.argv[1:]
    files = [(Path(path), loaded_json(Path(path))) for path in paths]
    seconds = []
    for _ in range(int(times)):
        started = time.process_time()
        runs = [compared_run_of(data, path=path, name=path.stem, lengths=False) for path, data in files]
        text = page_markdown(model_comparison_page({"regular": compare_models(runs)}))
        Path(report).write_text(text)
        seconds.append(time.process_time() - started)
    print(median(seconds[1:]))


if __name__ == "__main__":
    main()
