"""Checks of what keeps results: the object store, its links, the database, the disks."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.request import url2pathname

from evalplatform.adapters.reach import fetch
from evalplatform.adapters.stores.open import check_store
from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem, warning
from evalplatform.ports.object_store import ObjectStore
from evalplatform.wiring import FILE_PREFIX, SQLITE_PREFIX

PROBE_SECONDS = 60
REPLY_SECONDS = 10.0
CLOCK_WARNING_SECONDS = 60.0
FEW_FREE_BYTES = 5 * 10**9
TOO_FEW_FREE_BYTES = 10**9


def look_at_storage(patient: Patient) -> Sequence[Finding]:
    """Write, read, refuse to overwrite and delete probe objects."""
    store = patient.opened.store
    check_store(store)
    return [ok("storage", f"{store.url} keeps, gives back and deletes objects, and lets one of two writers win.")]


def look_at_links(patient: Patient) -> Sequence[Finding]:
    """Follow a link to a probe object, as a browser would, and compare the store's clock with ours."""
    store = patient.opened.store
    key, data = f"checks/{os.urandom(16).hex()}", os.urandom(100)
    store.put(key, data)
    try:
        link = store.download_link(key, expires_seconds=PROBE_SECONDS)
        if link is None:
            return [ok("download links", "the store has none; the web app sends the files itself.")]
        return [_of_link(patient, store, link, data)]
    finally:
        store.delete(key)


def _of_link(patient: Patient, store: ObjectStore, link: str, data: bytes) -> Finding:
    fetched = fetch(link, timeout_seconds=REPLY_SECONDS, clock=patient.opened.clock)
    if fetched is None:
        return problem(
            "download links", "nobody answers at the address that links name.", fix="Give the store an address that browsers reach."
        )
    ahead = fetched.clock_ahead_seconds
    drifted = ahead is not None and abs(ahead) > CLOCK_WARNING_SECONDS
    clock = "" if ahead is None or not drifted else f" Its clock is {abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} ours."
    if fetched.status != 200 or fetched.body != data:
        return problem(
            "download links",
            f"{store.url} answers a fresh link with {fetched.status}.{clock}",
            fix="Set both clocks by NTP." if drifted else "Give the keys the right to read, and name the store's region in its URL.",
        )
    if drifted:
        return warning("download links", f"a fresh link works.{clock}", fix="Set both clocks by NTP: links end too early or too late.")
    return ok("download links", "a fresh link gives the object, and the clocks agree.")


def look_at_database(patient: Patient) -> Sequence[Finding]:
    """Connect, write, and read the schema's revision."""
    from evalplatform.adapters.tables.probe import probe_database
    from evalplatform.adapters.tables.schema import HEAD_REVISION

    url = patient.opened.database_url
    if url.startswith(SQLITE_PREFIX) and not Path(url.removeprefix(SQLITE_PREFIX)).exists():
        folder = _nearest_folder(Path(url.removeprefix(SQLITE_PREFIX)))
        if not os.access(folder, os.W_OK):
            return [problem("database", f"{url} is not made yet, and {folder} cannot be written.", fix=f"Let this user write {folder}.")]
        return [ok("database", f"{url} is not made yet: the first run makes it.")]
    revision = probe_database(url)
    if revision is None:
        return [ok("database", f"{url} answers; it has no schema yet, which the first run makes.")]
    if revision < HEAD_REVISION:
        return [ok("database", f"{url} takes writes; the next run migrates its schema from {revision} to {HEAD_REVISION}.")]
    if revision > HEAD_REVISION:
        return [
            problem(
                "database",
                f"{url} has schema {revision}, newer than this version's {HEAD_REVISION}.",
                fix="Install the version of evalplatform that made it, or a later one.",
            )
        ]
    return [ok("database", f"{url} takes writes; schema {revision}.")]


def look_at_disks(patient: Patient) -> Sequence[Finding]:
    """Say how much room is left wherever something is written on this machine."""
    opened = patient.opened
    places = {"state": opened.project.state_folder}
    if opened.store.url.startswith(FILE_PREFIX):
        places["storage"] = Path(url2pathname(opened.store.url.removeprefix(FILE_PREFIX)))
    if opened.database_url.startswith(SQLITE_PREFIX):
        places["database"] = Path(opened.database_url.removeprefix(SQLITE_PREFIX))
    by_device: dict[int, tuple[Path, list[str]]] = {}
    for name, place in places.items():
        folder = _nearest_folder(place)
        by_device.setdefault(folder.stat().st_dev, (folder, []))[1].append(name)
    return [_of_disk(folder, ", ".join(names)) for folder, names in by_device.values()]


def _of_disk(folder: Path, names: str) -> Finding:
    free_bytes = shutil.disk_usage(folder).free
    found = f"{free_bytes / 10**9:,.1f} GB free for {names} ({folder})."
    if free_bytes < TOO_FEW_FREE_BYTES:
        return problem("disk", found, fix="Make room before the next run: what cannot be written stops it.")
    if free_bytes < FEW_FREE_BYTES:
        return warning("disk", found, fix="Make room soon.")
    return ok("disk", found)


def _nearest_folder(place: Path) -> Path:
    """Return the deepest folder above a place that is there."""
    return next(folder for folder in (place, *place.parents) if folder.is_dir())
