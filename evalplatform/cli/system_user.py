"""Who runs a command, for the audit."""

import getpass


def system_user() -> str:
    """Return the name of the user that this process runs as; `unknown` where it has none, or none that can be written down."""
    from evalplatform.labels.cells import is_name

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name; until Python 3.13 that is a KeyError
        return "unknown"
    return user if is_name(user) else "unknown"
