"""Names of branches as options give them."""

from evalplatform.kernel.errors import InputError


def checked_branch(name: str, option: str) -> str:
    """Return a branch's name.

    Raises:
        InputError: it is empty, or not of one line.
    """
    if not name.strip() or not name.isprintable():
        raise InputError(f"takes the name of a branch, on one line; not {name!r}.", field=option)
    return name
