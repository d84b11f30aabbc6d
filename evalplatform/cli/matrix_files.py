"""Where the files of a matrix go, and writing them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.cli.cell_result import draw_files, file_name_of, report_file, results_folder
from evalplatform.cli.files import check_outputs, write_if_changed
from evalplatform.comparisons.matrix_rollup import MatrixRollup
from evalplatform.project.cells import Cell
from evalplatform.project.matrix_file import safe_name
from evalplatform.reports.html import FILE_NAME, Download, with_files_named
from evalplatform.reports.matrix_report import matrix_page
from evalplatform.reports.matrix_rollup_v1 import delta_stem, matrix_rollup_bytes
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.plugin_delta_report import plugin_delta_page
from evalplatform.reports.plugin_delta_v1 import plugin_delta_bytes
from evalplatform.stages.arms_report import CSV_FILE, HTML_FILE, MARKDOWN_FILE
from evalplatform.stages.pipeline import CellRun

ROLLUP_STEM = "matrix-rollup"
ROLLUP_FLAGS = {".json": "--out-json", ".md": "--out-md", ".html": "--out-dir"}
ENDINGS = tuple(ROLLUP_FLAGS)
LINKED = {".json": "JSON", ".md": "Markdown"}


@dataclass(frozen=True)
class MatrixFiles:
    """Where everything goes.

    Attributes:
        folder: of the cells, the deltas, and the rollup unless told otherwise.
        cells: by cell, where each file of its report goes, and what it is called in the report's artifact.
        rollup: the rollup's files, by ending.
    """

    folder: Path
    cells: Mapping[str, Mapping[Path, str]]
    rollup: Mapping[str, Path]

    def write_cell(self, catalog: ArtifactCatalog, name: str, done: CellRun) -> list[Path]:
        """Write a cell's files and return their paths."""
        names = {file: path.name for path, file in self.cells[name].items()}
        for path, file in self.cells[name].items():
            content = report_file(catalog, done, file, matrix_cell=name)
            write_if_changed(path, with_files_named(content, names) if file == HTML_FILE else content)
        return list(self.cells[name])

    def write_rollup(self, rollup: MatrixRollup, runs: Iterable[CellRun]) -> list[Path]:
        """Write the rollup and every delta, and return their paths. The rollup is as old as the newest report that it was made from."""
        written = []
        for delta in rollup.deltas:
            stem = delta_stem(delta.control_name, delta.plugin_name)
            paths = {ending: self.folder / f"{stem}{ending}" for ending in ENDINGS}
            written += _write(paths, plugin_delta_bytes(delta), plugin_delta_page(delta))
        newest = max(done.report.created_at for done in runs)
        data = matrix_rollup_bytes(rollup, generated_at=newest)
        return [*written, *_write(self.rollup, data, matrix_page(rollup, linked=True), elsewhere=matrix_page(rollup))]

    def of_earlier_matrices(self, written: Iterable[Path]) -> list[Path]:
        """Return the files in the folder that have names as a matrix gives them, and are not among the written ones."""
        named = (self.folder.glob(f"{pattern}{ending}") for pattern in ("cells/*", "plugin-delta-*") for ending in (*ENDINGS, ".csv"))
        return sorted(set(chain.from_iterable(named)) - set(written))


def planned_files(
    cells: Sequence[tuple[str, Cell]],
    *,
    project_root: Path,
    product: str,
    draws: int,
    out_dir: Path | None,
    rollup: Mapping[str, Path | None],
    inputs: Iterable[Path] = (),
) -> MatrixFiles:
    """Return where everything goes: every place writable, since nothing may be paid for a result without one, and free.

    Args:
        cells: the cells with their names in the matrix.
        project_root: results go beside the project file unless told otherwise.
        product: names the folder.
        draws: how many arms.v1 files a cell has.
        out_dir: the folder, where told.
        rollup: where the rollup's files go, by ending, where told.
        inputs: the files that are read.

    Raises:
        InputError: a file cannot be written, two would be one, or one is read.
    """
    folder = out_dir or results_folder(project_root) / f"{file_name_of(product)}-matrix"
    files = MatrixFiles(
        folder=folder,
        cells={name: _cell_files(folder / "cells" / safe_name(name), draws) for name, _ in cells},
        rollup={ending: rollup.get(ending) or folder / f"{ROLLUP_STEM}{ending}" for ending in ENDINGS},
    )
    deltas = [folder / f"{delta_stem(control, plugin)}{ending}" for control, plugin in _pairs(cells) for ending in ENDINGS]
    in_folder = [("--out-dir", path) for path in (*chain.from_iterable(files.cells.values()), *deltas)]
    check_outputs([*in_folder, *((ROLLUP_FLAGS[ending], path) for ending, path in files.rollup.items())], inputs=inputs)
    return files


def _cell_files(stem: Path, draws: int) -> dict[Path, str]:
    # Not `with_suffix`: what stands behind a dot of the name is no ending.
    readable = {Path(f"{stem}.md"): MARKDOWN_FILE, Path(f"{stem}.csv"): CSV_FILE, Path(f"{stem}.html"): HTML_FILE}
    return {**draw_files(Path(f"{stem}.json"), draws=draws), **readable}


def _pairs(cells: Sequence[tuple[str, Cell]]) -> list[tuple[str, str]]:
    """Return every pair of cells whose delta may be written."""
    return [(control, plugin) for control, before in cells for plugin, after in cells if after.plugins and not before.plugins]


def _write(paths: Mapping[str, Path], json_bytes: bytes, page: Page, *, elsewhere: Page | None = None) -> list[Path]:
    """Write a report's files; its page leads to those beside it whose names a link holds as they are.

    `elsewhere` is the page for a Markdown file in another folder, where links to what lies beside the page lead nowhere.
    """
    beside = [(label, paths[ending]) for ending, label in LINKED.items() if paths[ending].parent == paths[".html"].parent]
    downloads = [Download(label=label, file_name=path.name) for label, path in beside if FILE_NAME.fullmatch(path.name)]
    readable = page if elsewhere is None or paths[".md"].parent == paths[".html"].parent else elsewhere
    contents = {".json": json_bytes, ".md": page_markdown(readable).encode(), ".html": page_html(page, downloads=downloads).encode()}
    for ending, path in paths.items():
        write_if_changed(path, contents[ending])
    return list(paths.values())
