"""The files that a run of a suite reads, so that no result is written over one of them."""

from collections.abc import Iterator
from pathlib import Path

from evalplatform.arms.grammar import parse_spec
from evalplatform.arms.skill_files import SKILL_FILE
from evalplatform.cli.cell_result import RESULTS_FOLDER
from evalplatform.project.load import Project
from evalplatform.project.schema import SuiteSettings
from evalplatform.retrieval.documents import is_document
from evalplatform.retrieval.files import files_below

LOCAL_SOURCE = "local:"


def suite_inputs(project: Project, suite: SuiteSettings) -> list[Path]:
    """Return the project file, rubrics, the question file, and every file that an arm sends; those that are missing may be among them.

    Reports of earlier runs are not, also where a folder of documents holds the folder of results: a rerun replaces its own report.
    """
    return [*project_inputs(project), project.root / suite.questions, *_of_arms(project, suite)]


def project_inputs(project: Project) -> list[Path]:
    """Return the project file and the rubrics of its judges."""
    rubrics = [project.root / judge.rubric for judge in project.settings.judges.values() if judge.rubric is not None]
    return [*([] if project.file is None else [project.file]), *rubrics]


def _of_arms(project: Project, suite: SuiteSettings) -> Iterator[Path]:
    product = project.settings.products.get(suite.product)
    sources = {} if product is None else product.sources
    for spec in suite.arm_specs:
        for part in parse_spec(spec).parts:
            if part.kind == "docs":
                yield from _of_documents(sources.get(part.argument, part.argument), root=project.root)
            elif part.argument:
                path = project.root / part.argument
                yield path / SKILL_FILE if path.is_dir() else path


def _of_documents(source: str, *, root: Path) -> Iterator[Path]:
    """Yield the documents of a folder; a source that is no folder of this machine has none."""
    if source.startswith(LOCAL_SOURCE):
        for relative, path in files_below(root / source.removeprefix(LOCAL_SOURCE).strip()):
            if is_document(relative) and not path.is_relative_to(root / RESULTS_FOLDER):
                yield path
