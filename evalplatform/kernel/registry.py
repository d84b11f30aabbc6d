"""One registry class for every family of kinds: arm kinds, judges, document sources, stores."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Generic, TypeVar

from evalplatform.kernel.errors import UnknownNameError

T = TypeVar("T")

_LOADING: ContextVar[frozenset[str]] = ContextVar("registries_being_loaded", default=frozenset())
"""The families that this thread is loading just now."""


class Registry(Generic[T]):
    """Names of one family and what they stand for.

    A kind joins in one of two ways: a file in the family's `kinds` package that calls `register`, or an entry point in the group
    `evalplatform.<family>` of another installed package. Both are found on first use, so that importing a family stays cheap. Threads
    that come first at once each see to it themselves that all are there: a module is imported once, and who comes second waits for it.

    Args:
        family: the family's name, such as `arm_kinds`; also the entry point group's ending.
        noun: how a message names one member, such as `arm kind`.
        kinds_package: the package whose modules register themselves, or None.
    """

    def __init__(self, family: str, *, noun: str, kinds_package: str | None = None) -> None:
        self.family = family
        self.noun = noun
        self._kinds_package = kinds_package
        self._members: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers its target under `name`; a second registration of a name is a ValueError."""

        def remember(member: T) -> T:
            if name in self._members and self._members[name] is not member:
                raise ValueError(f"{self.noun} {name!r} is registered twice")
            self._members[name] = member
            return member

        return remember

    def get(self, name: str) -> T:
        """Return the member called `name`.

        Raises:
            UnknownNameError: with the nearest known name.
        """
        self._load()
        try:
            return self._members[name]
        except KeyError:
            raise UnknownNameError(self.noun, name, self._members) from None

    def names(self) -> list[str]:
        """Return every known name, sorted."""
        self._load()
        return sorted(self._members)

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load(self) -> None:
        if self._loaded or self.family in _LOADING.get():  # a member that is being loaded may look at the others: what is there by then
            return
        loading = _LOADING.set(_LOADING.get() | {self.family})
        try:
            self._find_members()
        finally:
            _LOADING.reset(loading)
        self._loaded = True  # not before: another thread would take what is there by now for all

    def _find_members(self) -> None:
        if self._kinds_package is not None:
            package = import_module(self._kinds_package)
            for module in iter_modules(package.__path__):
                import_module(f"{self._kinds_package}.{module.name}")
        for entry_point in entry_points(group=f"evalplatform.{self.family}"):
            self.register(entry_point.name)(entry_point.load())
