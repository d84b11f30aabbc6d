"""The starter project in a folder of a test, with parts of its file replaced."""

from pathlib import Path

from evalplatform.cli.starter import write_starter
from evalplatform.project.load import PROJECT_FILE_NAME, Project, load_project


def starter(folder: Path, *replacements: tuple[str, str]) -> Path:
    """Write the starter project to `folder` and return its project file, with each first text replaced by its second."""
    write_starter(folder)
    return edited(folder / PROJECT_FILE_NAME, *replacements)


def edited(file: Path, *replacements: tuple[str, str]) -> Path:
    """Replace texts in a file; a text that is not there, or there more than once, is a mistake of the test."""
    text = file.read_text(encoding="utf-8")
    for old, new in replacements:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return file


def starter_project(folder: Path, *replacements: tuple[str, str]) -> Project:
    """Return the loaded starter project; the environment does not reach it."""
    return load_project(starter(folder, *replacements), environ={})
