"""Many registered partitions: how long definitions take to load and sensors to look, when every partition has been made.

A child process does each: it loads the project and its definitions, lets both sensors look once with nothing to do, and tells the seconds.
"""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Figure
from benchmarks.processes import measured
from benchmarks.workload import SUITE, Workload

if TYPE_CHECKING:
    import dagster as dg

    from evalplatform.project.load import Project

JUDGES = 10
DATA_VERSION = "0123456789abcdef"
STEPS = {"definitions load": 10.0, "partitions sensor, a look": 5.0, "new-judges sensor, a look": 5.0}
"""Each step with the most seconds it may take at the larger number; Dagster gives a look sixty."""

PROJECT_FILE = """\
version: 1
project: registered
endpoints:
  offline: {{provider: offline}}
cells:
{cells}
judges:
{judges}
products:
  bench: {{}}
suites:
  bench:
    product: bench
    questions: questions.json
    arms: [baseline]
    cells: [{cell_names}]
    judges: [{judge_names}]
"""


def figures(workload: Workload) -> list[Figure]:
    """Return the seconds of every step at a tenth of the partitions, and at all of them."""
    most = workload.size.registered
    return [figure for partitions in (most // 10, most) for figure in _figures(workload, partitions, bounded=partitions == most)]


def _figures(workload: Workload, partitions: int, *, bounded: bool) -> list[Figure]:
    folder = workload.folder / f"registered-{partitions}"
    program = (sys.executable, "-W", "ignore", "-m", "benchmarks.registered_partitions")
    measured((*program, "register", str(folder), str(partitions)), bytecode=workload.bytecode)
    told = measured((*program, "look", str(folder), str(partitions)), bytecode=workload.bytecode).output
    seconds: dict[str, float] = json.loads(told.splitlines()[-1])
    detail = f"{partitions // JUDGES:,} cells x {JUDGES} judges"
    return [
        Figure(f"{partitions:,} partitions, {step}", seconds[step], "s", allowed if bounded else None, detail)
        for step, allowed in STEPS.items()
    ]


def main() -> None:
    """Register partitions in a folder, or look at them."""
    step, folder, partitions = sys.argv[1:]
    {"register": register, "look": look}[step](Path(folder), int(partitions))


def register(folder: Path, partitions: int) -> None:
    """Write a project, register its partitions in a Dagster instance of its own, and record that each has been made."""
    import dagster as dg

    from assets.declared import asset_key
    from assets.partitions import register_partitions

    folder.mkdir()
    cells, judges = ([f"{letter}{number:05d}" for number in range(count)] for letter, count in (("c", partitions // JUDGES), ("j", JUDGES)))
    text = PROJECT_FILE.format(
        cells="\n".join(f"  {cell}: {{model: extractive, endpoint: offline}}" for cell in cells),
        judges="\n".join(f"  {judge}: {{kind: overlap, model: overlap, endpoint: offline}}" for judge in judges),
        cell_names=", ".join(cells),
        judge_names=", ".join(judges),
    )
    (folder / "evalplatform.yaml").write_text(text)
    (folder / "dagster").mkdir()
    (folder / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with _instance(folder) as instance:
        project = _project(folder)
        register_partitions(instance, project)
        keys = [cell.key for cell in project.cells_of(SUITE)]
        for key in keys:
            instance.report_runless_asset_event(_made(asset_key(SUITE, "arm_answers"), key))
        for judge in project.judges_of(SUITE):
            for key in keys:
                partition = dg.MultiPartitionKey({"cell": key, "judge": judge.key})
                instance.report_runless_asset_event(_made(asset_key(SUITE, "judged_scores"), partition))


def look(folder: Path, partitions: int) -> None:
    """Print the seconds of each step as JSON."""
    import dagster as dg

    from evalplatform.definitions import build_definitions
    from sensors.new_judges import new_judges_sensor
    from sensors.partitions import partitions_sensor

    file = folder / "evalplatform.yaml"
    with _instance(folder) as instance:
        if len(instance.get_dynamic_partitions(f"{SUITE}.cells")) != partitions // JUDGES:
            raise RuntimeError("not every partition was registered")
        started = time.perf_counter()
        definitions = build_definitions(_project(folder))
        seconds = {"definitions load": time.perf_counter() - started}
        sensors = (partitions_sensor(file, suites=[SUITE]), new_judges_sensor(file, SUITE))
        for name, sensor in zip(list(STEPS)[1:], sensors, strict=True):
            with dg.build_sensor_context(instance=instance, definitions=definitions) as context:
                started = time.perf_counter()
                found = sensor(context)
                seconds[name] = time.perf_counter() - started
            if not isinstance(found, dg.SkipReason):
                raise RuntimeError(f"{name} found something to do: {found}")
    print(json.dumps(seconds))


def _instance(folder: Path) -> "dg.DagsterInstance":
    import dagster as dg

    return dg.DagsterInstance.from_config(str(folder / "dagster"))


def _project(folder: Path) -> "Project":
    from evalplatform.project.load import load_project

    return load_project(folder / "evalplatform.yaml")


def _made(asset: "dg.AssetKey", partition: str) -> "dg.AssetMaterialization":
    import dagster as dg

    return dg.AssetMaterialization(asset, partition=partition, tags={"dagster/data_version": DATA_VERSION})


if __name__ == "__main__":
    main()
