"""The locks port: one run at a time at a piece of work, over all processes that share a ledger."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Locks(Protocol):
    """Named locks between processes. They keep paid work from being done twice; what is recorded is safe without them.

    A lock belongs to its holder's process or connection and is given back when that ends, however it ends: there is no expiry, so a
    holder that is slow is never taken for one that is dead.
    """

    def held(self, name: str, *, on_wait: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Hold the lock of that name for the body, waiting for as long as another holds it.

        It is no lock of a task: whoever holds a name and asks for it again waits for ever.

        Args:
            name: what is worked at, any text.
            on_wait: told once, when another holder makes this one wait.

        Raises:
            StorageUnavailableError: the lock cannot be asked for, since the disk or the database does not answer.
        """
        ...
