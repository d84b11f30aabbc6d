"""Finding and reading the files that treatments are made of, with errors that name the file as the user wrote it."""

import unicodedata
from pathlib import Path

from evalplatform.arms.front_matter import FrontMatter, FrontMatterProblem
from evalplatform.kernel.errors import TreatmentFileError
from evalplatform.retrieval.files import nearest_existing

NAME_SEPARATORS = frozenset("|,")
UNPRINTED_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})  # controls (line breaks among them), line and paragraph separators


def existing_path(path: str, *, base_folder: Path) -> Path:
    """Return the path, taken from the base folder where it is relative.

    Raises:
        TreatmentFileError: nothing is there; it names the nearest existing path.
    """
    found = base_folder / path
    try:
        if found.exists():
            return found
        nearest = nearest_existing(path, base_folder=base_folder)
    except OSError as error:
        raise TreatmentFileError(f"cannot be looked up ({error.strerror}).", file=path) from error
    raise TreatmentFileError("does not exist.", file=path, nearest=nearest)


def read_text(path: Path, *, shown_as: str) -> str:
    """Return the file's text with its line endings as they are, and with its byte order mark if it has one.

    Raises:
        TreatmentFileError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TreatmentFileError(f"cannot be read ({error.strerror}).", file=shown_as) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TreatmentFileError("is not UTF-8 text.", file=shown_as, line=line) from error


def text_field(front_matter: FrontMatter, key: str, *, shown_as: str) -> str | None:
    """Return a metadata field that must be text, trimmed; None where it is missing, null or blank.

    Raises:
        TreatmentFileError: it is a number, a list, a date: quoting it says what is meant, guessing would not (1.10 is not 1.1).
    """
    value = front_matter.metadata.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise TreatmentFileError(f"must be text, not {value!r}; quote it.", file=shown_as, field=key)
    return value.strip() or None


def checked_name(name: str, *, shown_as: str, field: str) -> str:
    """Return a name that an arm is called by, if it fits on one line of a report and into a list of arms.

    Raises:
        TreatmentFileError: it holds `|`, `,`, a line break or a control character.
    """
    for character in name:
        if character in NAME_SEPARATORS or unicodedata.category(character) in UNPRINTED_CATEGORIES:
            found = f"the name {name!r} holds {character!r}; an arm is called by it in lists and tables,"
            rule = "so it may hold no '|', no ',', no line break and no control character."
            raise TreatmentFileError(f"{found} {rule}", file=shown_as, field=field)
    return name


def unreadable_front_matter(problem: FrontMatterProblem, *, shown_as: str) -> TreatmentFileError:
    """Return the error for front matter that must be readable, with line, offending text and the usual cause."""
    hint = ""
    key, colon, value = problem.text.partition(": ")
    if colon and ": " in value and value[:1] not in {'"', "'"}:
        hint = f" An unquoted ': ' in the text is the usual cause: put quotes around the value of {key!r}."
    return TreatmentFileError(f"front matter cannot be read: {problem.reason}: {problem.text!r}.{hint}", file=shown_as, line=problem.line)
