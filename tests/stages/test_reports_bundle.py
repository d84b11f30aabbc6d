"""The bundle of a report of a real run: with it go the verdicts that it read and the moves of its own scores, and those of no others."""

import io
import zipfile
from pathlib import Path

import pytest

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.project.load import load_project
from evalplatform.stages import arms_report, plugin_deltas, score_moves, verdicts
from evalplatform.stages.pipeline import run_cell
from evalplatform.stages.reports_bundle import bundled_manifests, reports_bundle
from evalplatform.wiring import OpenedProject
from tests.support.starter import edited, starter

REPORT_FILES = {"report.html", "report.md", "arms.json", "scores.csv", "manifest.json", "README.txt", "SHA256SUMS"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return starter(tmp_path, ("    judges: [facts]\n", "    judges: [facts]\n    pass_points: 70\n"))


def ran(file: Path, *, judged: bool = True) -> dict[str, ArtifactManifest]:
    """Run the suite's one cell, and return what was made, by asset."""
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (cell,), (judge,) = context.project.cells_of("kettle"), context.project.judges_of("kettle")
        run = run_cell(context, cell, judge if judged else None)
    return {stage.manifest.artifact.asset: stage.manifest for stage in run.stages}


def bundled(file: Path, report: ArtifactManifest) -> dict[str, bytes]:
    """Return the files in the bundle of a version of the report."""
    with OpenedProject(load_project(file, environ={})) as opened:
        data = reports_bundle(opened.catalog, bundled_manifests(opened.catalog, report))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def stored(file: Path, manifest: ArtifactManifest, name: str) -> bytes:
    with OpenedProject(load_project(file, environ={})) as opened:
        return opened.catalog.read(manifest, name)


def test_verdicts_and_moves_of_a_run_are_in_its_bundle(file: Path) -> None:
    made = ran(file)
    files = bundled(file, made[arms_report.ASSET])
    assert set(files) == REPORT_FILES | {"verdicts.md", "score_moves.json", "score_moves.md"}
    assert files["verdicts.md"] == stored(file, made[verdicts.ASSET], "verdicts.md")
    assert files["score_moves.md"] == stored(file, made[score_moves.ASSET], "score_moves.md")


def test_each_report_has_the_verdicts_of_its_own_threshold(file: Path) -> None:
    at_70 = ran(file)
    edited(file, ("pass_points: 70", "pass_points: 50"))
    at_50 = ran(file)
    for made in (at_70, at_50):
        assert bundled(file, made[arms_report.ASSET])["verdicts.md"] == stored(file, made[verdicts.ASSET], "verdicts.md")


def test_an_earlier_report_has_its_own_moves_and_not_those_from_its_scores_to_newer_ones(file: Path) -> None:
    first = ran(file)
    edited(file.parent / "docs/boiling.md", ("after 90 seconds", "after 80 seconds"))
    second = ran(file)
    for made in (first, second):
        assert bundled(file, made[arms_report.ASSET])["score_moves.md"] == stored(file, made[score_moves.ASSET], "score_moves.md")
    assert first[score_moves.ASSET].data_version != second[score_moves.ASSET].data_version


def test_a_report_whose_own_moves_were_never_made_has_none(file: Path) -> None:
    first = ran(file)
    edited(file.parent / "docs/boiling.md", ("after 90 seconds", "after 80 seconds"))
    ran(file)
    moves = first[score_moves.ASSET]
    (folder,) = file.parent.glob(f".evalplatform/**/artifacts/{moves.artifact.path}/{moves.data_version}/manifest.json")
    folder.unlink()
    assert "score_moves.md" not in bundled(file, first[arms_report.ASSET])


def test_a_report_without_a_judge_has_neither_verdicts_nor_moves(file: Path) -> None:
    ran(file)
    assert set(bundled(file, ran(file, judged=False)[arms_report.ASSET])) == REPORT_FILES


def test_the_delta_of_a_plugin_cell_is_in_the_bundle_of_its_report_alone(tmp_path: Path) -> None:
    reader = "  reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
    short = reader.replace("reader:", "short:").replace("sampling", "plugins: [truncate:40], sampling")
    file = starter(tmp_path, (reader, f"{reader}\n{short}"), ("cells: [reader]", "cells: [reader, short]"))
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (judge,) = context.project.judges_of("kettle")
        reports = {cell.id: run_cell(context, cell, judge).report for cell in context.project.cells_of("kettle")}
        plugin_deltas.materialize_plugin_deltas(context, context.project.cell("short"), judge)
    assert {"delta.json", "plugin_deltas/report.html", "plugin_deltas/report.md"} <= set(bundled(file, reports["short"]))
    assert "delta.json" not in bundled(file, reports["reader"])
