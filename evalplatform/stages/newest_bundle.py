"""The bundle that `push` takes where none is named."""

from pathlib import Path

from evalplatform.kernel.errors import BundleError
from evalplatform.runs.bundle import BUNDLE_ENDING, read_header
from evalplatform.runs.bundle_file import END_LINE, lines_of


def newest_finished_bundle(folder: Path) -> Path:
    """Return the bundle of the folder that was written last and is finished, truncated ones included.

    Raises:
        BundleError: there is none.
    """
    newest_first = sorted(folder.glob(f"*{BUNDLE_ENDING}"), key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
    for path in newest_first:
        if _is_finished(path):
            return path
    unfinished = f"; {newest_first[0].name} is unfinished" if newest_first else ""
    raise BundleError(
        f"holds no finished bundle to push{unfinished}: `evalplatform run` and `evalplatform import` write them.", file=folder
    )


def _is_finished(path: Path) -> bool:
    try:
        read_header(path)
        return any(line.startswith(END_LINE) for _, line in lines_of(path, first=2))
    except BundleError:
        return False
