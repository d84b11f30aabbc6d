"""`caveman[:lite|full|ultra]`: a brevity instruction after every arm's system prompt; `full` where no level is given."""

from typing import ClassVar, Literal, Self, get_args

from pydantic import JsonValue

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import PluginError, nearest_name
from evalplatform.plugins.plugin import PromptMiddleware, plugin_kinds, with_instruction

Level = Literal["lite", "full", "ultra"]
LEVELS: tuple[Level, ...] = get_args(Level)

_KEPT = "Code, commands, names, numbers and units stay exactly as they are, and no fact that the question asks for is left out."

# A changed word is another plugin: raise `Caveman.version` with it.
INSTRUCTIONS: dict[Level, str] = {
    "lite": f"Keep the answer short. Use plain, complete sentences without greetings, filler, hedging or repetition. {_KEPT}",
    "full": (
        "Answer as a caveman who knows the subject well: few words, short fragments, no articles, no filler, no politeness, one fact a "
        f"line. {_KEPT}"
    ),
    "ultra": (
        "Answer in the fewest words that still carry the facts. Telegram style: bare nouns and verbs, arrows and symbols in place of "
        f"connecting words, no full sentence anywhere. {_KEPT}"
    ),
}


class Caveman(PromptMiddleware):
    """The brevity instruction at one level."""

    id: ClassVar[str] = "caveman"
    version: ClassVar[str] = "0.1.0"

    level: Level = "full"

    @classmethod
    def of_argument(cls, argument: str | None) -> Self:
        """Return the plugin at the level that the argument names, `full` where there is none.

        Raises:
            PluginError: there is no such level.
        """
        if argument is None:
            return cls()
        for level in LEVELS:
            if argument == level:
                return cls(level=level)
        raise PluginError(f"{argument!r} is no level; use {', '.join(LEVELS)}.", nearest=nearest_name(argument, LEVELS))

    @property
    def argument(self) -> str:
        """The level."""
        return self.level

    @property
    def instruction(self) -> str:
        """What the model is told."""
        return INSTRUCTIONS[self.level]

    @property
    def config(self) -> dict[str, JsonValue]:
        """The level, and the digest of what it tells the model: other words under one name are another plugin."""
        return {"level": self.level, "instruction_sha256": text_digest(self.instruction)}

    def extended_system_prompt(self, system_prompt: str | None) -> str:
        """Return the arm's system prompt with the instruction after it."""
        return with_instruction(system_prompt, self.instruction)


plugin_kinds.register(Caveman.id)(Caveman)
