"""`truncate[:N]`: an answer cut to N characters, the last of them an ellipsis; 800 where no N is given."""

import re
from typing import ClassVar, Literal, Self

from pydantic import Field

from evalplatform.kernel.errors import PluginError
from evalplatform.kernel.text import ELLIPSIS
from evalplatform.plugins.plugin import OutputShaper, plugin_kinds

DEFAULT_MAX_CHARS = 800
MOST_MAX_CHARS = 999_999_999
_WHOLE_NUMBER = re.compile(r"0*([1-9][0-9]{0,8})", re.ASCII)


class Truncate(OutputShaper):
    """The cut at one length. Characters are Unicode code points, as Python counts them."""

    id: ClassVar[str] = "truncate"
    version: ClassVar[str] = "0.1.0"

    max_chars: int = Field(default=DEFAULT_MAX_CHARS, ge=1, le=MOST_MAX_CHARS)
    ellipsis: Literal[True] = True

    @classmethod
    def of_argument(cls, argument: str | None) -> Self:
        """Return the plugin that cuts at the number of characters given, 800 where none is.

        Raises:
            PluginError: the argument is no positive whole number.
        """
        if argument is None:
            return cls()
        if (number := _WHOLE_NUMBER.fullmatch(argument)) is None:
            raise PluginError(f"{argument!r} is no number of characters; use a whole number from 1 to {MOST_MAX_CHARS:,}, in digits.")
        return cls(max_chars=int(number.group(1)))

    @property
    def argument(self) -> str:
        """The length in characters."""
        return str(self.max_chars)

    def shaped_answer(self, text: str) -> str:
        """Return an answer of at most `max_chars` characters as it is; of a longer one, exactly that many, the ellipsis included."""
        return text if len(text) <= self.max_chars else text[: self.max_chars - len(ELLIPSIS)] + ELLIPSIS


plugin_kinds.register(Truncate.id)(Truncate)
