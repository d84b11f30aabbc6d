"""Finding the bundle that a batch goes on in."""

from pathlib import Path

from evalplatform.kernel.errors import BundleError
from evalplatform.runs.bundle import BUNDLE_ENDING, read_header
from evalplatform.runs.bundle_reopened import ClaimedBundle, claimed_bundle
from evalplatform.runs.records import BatchHeader

FOLDER = "bundles"


def new_bundle_path(folder: Path, header: BatchHeader) -> Path:
    """Return where a new bundle goes: named by when it was begun, and by what it records, so that two at once have files of their own."""
    return folder / f"{header.recorded_at:%Y%m%dt%H%M%S%f}-{header.digest.removeprefix('sha256:')[:8]}{BUNDLE_ENDING}"


def open_bundle_of(folder: Path, header: BatchHeader, *, whatever_runs: bool = False) -> ClaimedBundle | None:
    """Lock and return the newest bundle of the folder that was begun as this header says and never ended, or None.

    With `whatever_runs` it may plan other numbers of runs: it was begun by another run plan, and keeps that.

    A bundle without a whole first line is left alone, since its process was killed before it recorded anything, and so is one that another
    process is recording into.
    """
    for path in sorted(folder.glob(f"*{BUNDLE_ENDING}"), reverse=True):
        try:
            found = read_header(path)
            is_same = found.digest_without_runs == header.digest_without_runs if whatever_runs else found.digest == header.digest
            if not is_same:
                continue
            claimed = claimed_bundle(path)
        except BundleError:
            continue
        if not claimed.summary.is_finished:
            return claimed
        claimed.close()
    return None
