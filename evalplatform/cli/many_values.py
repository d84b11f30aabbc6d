"""Options that take several values after one name: `--runs A B` means `--runs A --runs B`."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar

from typer.core import TyperCommand


class ManyValuesCommand(TyperCommand):
    """A command some of whose options take all values up to the next option. Repeating such an option works as well."""

    many: ClassVar[Collection[str]] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after giving each further value its own option name."""
        return super().parse_args(ctx, list(with_names(args, self.many)))


def with_names(arguments: Iterable[str], many: Collection[str]) -> Iterator[str]:
    """Yield the arguments with the option's name before each further value of an option in `many`.

    Example:
        >>> list(with_names(["--runs", "a", "b", "--out", "c"], ["--runs"]))
        ['--runs', 'a', '--runs', 'b', '--out', 'c']
    """
    name, values = None, 0
    for argument in arguments:
        if argument.startswith("-"):
            stem, is_joined, _ = argument.partition("=")
            name, values = (stem if stem in many else None), len(is_joined)
        elif name is not None:
            values += 1
            if values > 1:
                yield name
        yield argument
