"""The bundle that `push` takes where none is named."""

from pathlib import Path

from evalplatform.kernel.errors import BundleError
from evalplatform.runs.bundle import BUNDLE_ENDING, read_header
from evalplatform.runs.bundle_file import END_LINE, lines_of


def newest_finished_bundle(folder: Path) -> Path:
    """Return the bundle of the folder that was written last; a truncated one is finished, too.

    Raises:
        BundleError: there is none, or that one is unfinished.
    """
    newest_first = sorted(folder.glob(f"*{BUNDLE_ENDING}"), key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
    if not newest_first:
        raise BundleError("holds no bundle to push: `evalplatform run` and `evalplatform import` write them.", file=folder)
    newest = newest_first[0]
    if not _is_finished(newest):
        # An older one in its place would be taken for what was just run.
        raise BundleError("is the newest bundle, and unfinished: finish it, or name the bundle to push.", file=newest)
    return newest


def _is_finished(path: Path) -> bool:
    try:
        read_header(path)
        return any(line.startswith(END_LINE) for _, line in lines_of(path, first=2))
    except BundleError:
        return False
