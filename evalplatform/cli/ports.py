"""The ports that servers of this machine listen on."""

import errno
import socket

from evalplatform.kernel.errors import InputError

ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})


def refuse_taken_port(host: str, port: int, *, field: str = "--port") -> None:
    """Return nothing if the port can be listened on. Servers say it late: `dagster dev` starts its daemon first.

    Raises:
        InputError: the port is taken (at `field`), or the address is not this machine's (at `--host`).
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OverflowError as error:
        raise InputError(f"{port} is no port: they go from 0 to 65535.", field=field) from error
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "is taken; name another one, or end what uses it" if taken else f"cannot be listened on: {error.strerror}"
        raise InputError(f"port {port} of {host} {why}.", field=field if taken else "--host") from error


def shown_address(host: str, port: int) -> str:
    """Return the address that a browser on this machine is given: a server that listens everywhere is reached at 127.0.0.1."""
    if host in ANY_ADDRESS:
        return f"http://127.0.0.1:{port}"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
