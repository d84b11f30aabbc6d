"""A matrix from its plan to its files: what `arms matrix-run` does once its flags are read."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import typer

from evalplatform.cli.cell_result import cell_result, check_warnings, ending, file_warnings
from evalplatform.cli.console import say, shown_progress
from evalplatform.cli.matrix_files import MatrixFiles, planned_files
from evalplatform.cli.results import counts_words, some, table_lines
from evalplatform.cli.run_request import RunRequest
from evalplatform.cli.suite_inputs import suite_inputs
from evalplatform.comparisons.matrix_rollup import DeltaOfFewPairs, DeltaRefused, MatrixProblem, MatrixRollup, RolledCell, roll_up
from evalplatform.comparisons.plugin_delta_records import FewPairs
from evalplatform.kernel.text import plural
from evalplatform.project.cells import Cell
from evalplatform.project.matrix_file import MatrixCell
from evalplatform.reports.matrix_report import matrix_page
from evalplatform.reports.matrix_values import cell_values, delta_values, refused_values
from evalplatform.reports.matrix_words import matrix_warning
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.reports.visible import one_line
from evalplatform.stages.compared_runs import compared_run, current_versions
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.matrix import CellFailed, MatrixRun, run_matrix
from evalplatform.stages.pipeline import CellRun
from evalplatform.stages.run_flaws import run_flaws
from evalplatform.wiring import OpenedProject

WORDED = ("result", "interactions")
"""What a run of one cell tells for people; a matrix tells the same as numbers."""


@dataclass(frozen=True)
class MatrixJob:
    """A matrix that can be run: every name resolved, every place of a result writable.

    `names` maps each cell's id to its name in the matrix, in the matrix's order.
    """

    request: RunRequest
    names: Mapping[str, str]
    files: MatrixFiles
    deltas: bool

    @classmethod
    def planned(
        cls,
        request: RunRequest,
        declared: Sequence[MatrixCell],
        *,
        out_dir: Path | None,
        out_json: Path | None,
        out_md: Path | None,
        deltas: bool,
        matrix_file: Path | None,
    ) -> "MatrixJob":
        """Return the job. Raises InputError where a result could not be written, or would be written over a file that is read."""
        names = {cell.id: cell.name for cell in declared} or {cell.id: cell.id for cell in request.cells}
        files = planned_files(
            [(names[cell.id], cell) for cell in request.cells],
            project_root=request.project.root,
            product=request.suite.product,
            draws=request.suite.draws,
            out_dir=out_dir,
            rollup={".json": out_json, ".md": out_md},
            inputs=[*suite_inputs(request.project, request.suite), *([] if matrix_file is None else [matrix_file])],
        )
        return cls(request=request, names=names, files=files, deltas=deltas)

    def run(self, *, max_cost_usd: float | None, context7_id: str | None, as_json: bool) -> int:
        """Run the cells, write the files, say what came out, and return the exit code."""
        request = self.request
        cap_usd = request.max_cost_usd if max_cost_usd is None else max_cost_usd
        if cap_usd is not None:
            say(f"spend cap: ${cap_usd:g} for the whole matrix of {plural(len(request.cells), 'cell')}, answers and scores together")
        with OpenedProject(request.project) as opened, shown_progress() as on_progress:
            context = opened.suite_context(
                request.suite_id, suite=request.suite, max_cost_usd=cap_usd, on_progress=on_progress, library_id=context7_id
            )
            ran = run_matrix(context, request.cells, request.judge)
            rollup = self._rolled_up(context, ran)
            written = self._written(opened, ran, rollup)
        return self._told(ran, rollup, written, as_json=as_json)

    def _rolled_up(self, context: SuiteContext, ran: MatrixRun) -> MatrixRollup:
        runs, missing, flaws = [], {}, {}
        for cell, outcome in self._outcomes(ran):
            name = self.names[cell.id]
            if isinstance(outcome, CellFailed):
                missing[name] = one_line(str(outcome.error))
            else:
                versions = current_versions(context, cell, self.request.judge)
                runs.append(replace(compared_run(context, versions), name=name))
                flaws[name] = run_flaws(context, versions)
        return roll_up(runs, correction=self.request.suite.correction, missing=missing, flaws=flaws, with_deltas=self.deltas)

    def _written(self, opened: OpenedProject, ran: MatrixRun, rollup: MatrixRollup) -> list[Path]:
        done = {self.names[cell.id]: outcome for cell, outcome in self._outcomes(ran) if isinstance(outcome, CellRun)}
        written = [path for name, outcome in done.items() for path in self.files.write_cell(opened.catalog, name, outcome)]
        return [*written, *(self.files.write_rollup(rollup, done.values()) if done else ())]

    def _outcomes(self, ran: MatrixRun) -> list[tuple[Cell, CellRun | CellFailed]]:
        return [(cell, ran.cells[cell.id]) for cell in self.request.cells]

    def _told(self, ran: MatrixRun, rollup: MatrixRollup, written: Sequence[Path], *, as_json: bool) -> int:
        done = {self.names[cell.id]: outcome for cell, outcome in self._outcomes(ran) if isinstance(outcome, CellRun)}
        for found in _warnings(done):
            say(f"warning: {found}")
        for warning in rollup.warnings:
            if not isinstance(warning, MatrixProblem):
                say(f"warning: {one_line(matrix_warning(warning))}")
        for delta in rollup.deltas:
            for of_delta in delta.warnings:
                if not isinstance(of_delta, FewPairs):
                    say(f"warning: {delta.plugin_name} against {delta.control_name}: {one_line(delta_warning(of_delta))}")
        if as_json:
            typer.echo(orjson.dumps(self._result(ran, rollup, written), option=orjson.OPT_INDENT_2).decode())
        else:
            for section in matrix_page(rollup).sections if done else ():
                typer.echo(f"{section.title}\n" + "\n".join(table_lines(section.table)))
            if written:
                say(f"wrote {plural(len(written), 'file')} in {self.files.folder}")
                say(f"wrote {self.files.rollup['.md']}")
            if earlier := self.files.of_earlier_matrices(written):
                files, names = plural(len(earlier), "file"), some([os.fspath(path.relative_to(self.files.folder)) for path in earlier])
                say(f"note: of an earlier matrix, {files} in {self.files.folder} stay, and are in none of these numbers: {names}")
            say(f"nothing changed since the last run: {plural(0, 'model call')}" if ran.unchanged else counts_words(ran.counts))
        return self._ended(ran, rollup)

    def _ended(self, ran: MatrixRun, rollup: MatrixRollup) -> int:
        """Say what kept the matrix from being whole, and return the exit code."""
        code = 0
        for cell, outcome in self._outcomes(ran):
            name = self.names[cell.id]
            if isinstance(outcome, CellFailed):
                say(f"error: cell {name}: {outcome.error}")
                code = 2
                continue
            ended = ending(outcome, least_scored_rate=self.request.suite.checks.coverage.least_scored_rate)
            code = max(code, ended.code)
            for problem in ended.problems:
                say(f"error: cell {name}: {problem}")
            if ended.advice is not None:
                say(ended.advice)
        for warning in rollup.warnings:
            if isinstance(warning, DeltaRefused | DeltaOfFewPairs):  # the others are of cells
                say(f"error: {one_line(matrix_warning(warning))}")
                code = 2
        return code

    def _result(self, ran: MatrixRun, rollup: MatrixRollup, written: Sequence[Path]) -> dict[str, Any]:
        judge = self.request.judge
        rolled = {cell.name: cell for cell in rollup.cells}
        return {
            "suite": self.request.suite_id,
            "judge": None if judge is None else judge.key,
            "unchanged": ran.unchanged,
            "calls": ran.counts.model_dump(),
            "cells": [self._cell_result(cell, outcome, rolled) for cell, outcome in self._outcomes(ran)],
            "plugin_deltas": [delta_values(delta) for delta in rollup.deltas],
            "refused_deltas": refused_values(rollup),
            "warnings": [matrix_warning(warning) for warning in rollup.warnings],
            "files": [os.fspath(path) for path in written],
            "files_of_earlier_matrices": [os.fspath(path) for path in self.files.of_earlier_matrices(written)],
        }

    def _cell_result(self, cell: Cell, outcome: CellRun | CellFailed, rolled: Mapping[str, RolledCell]) -> dict[str, Any]:
        name = self.names[cell.id]
        named: dict[str, Any] = {"matrix_cell": name, "cell": cell.key, "plugin_set": cell.plugin_set}
        if isinstance(outcome, CellFailed):
            return {**named, "error": str(outcome.error), "calls": outcome.counts.model_dump()}
        told = {key: value for key, value in cell_result(outcome).items() if key not in WORDED}
        return {**named, "error": None, **told, **cell_values(rolled[name])}


def _warnings(done: Mapping[str, CellRun]) -> list[str]:
    """Return the warnings: what was found in the questions and the arms' files once, then what the checks found, by cell."""
    of_files = dict.fromkeys(warning for outcome in done.values() for warning in file_warnings(outcome))
    return [*of_files, *(f"cell {name}: {warning}" for name, outcome in done.items() for warning in check_warnings(outcome))]
