"""What a report calls its runs."""

from collections.abc import Sequence

from evalplatform.kernel.errors import InputError


def check_run_names(names: Sequence[str], *, field: str) -> None:
    """Return nothing if every run has a name of its own.

    Raises:
        InputError: no name at all, an empty one, or two that are equal; it names `field`.
    """
    if not names:
        raise InputError("at least one run is needed.", field=field)
    if not all(name.strip() for name in names):
        raise InputError("a run id must not be empty.", field=field)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError(f"{twice!r} is there twice; every run has an id of its own.", field=field)
