"""What a plugin is: a runtime modifier of every arm in a cell, with one of three hooks; and the registry that plugins join."""

from abc import abstractmethod
from typing import ClassVar, Literal, Self

from pydantic import JsonValue

from evalplatform.kernel.digests import canonical_json, text_digest
from evalplatform.kernel.registry import Registry
from evalplatform.kernel.values import Value

PluginHook = Literal["prompt_middleware", "output_shaper", "tool_result_shaper"]

REF_PREFIX = "plugin:"
DIGEST_HEX = 32
"""Ids of plugin sets and hashes of configs are `sha256:` and the first 32 hex digits, as arms.v1 files carry them."""


class PluginStamp(Value):
    """A plugin as a record keeps it.

    `ref` is its one canonical spelling, such as `plugin:caveman:full`; `kind` its hook; `config` all that decides what it does, and
    `config_hash` the digest of that.
    """

    id: str
    ref: str
    kind: PluginHook
    version: str
    config: dict[str, JsonValue]
    config_hash: str

    @property
    def label(self) -> str:
        """The plugin in a plugin set's label, such as `caveman:full`."""
        return self.ref.removeprefix(REF_PREFIX)

    @property
    def behaviour(self) -> dict[str, JsonValue]:
        """What a cell's key is taken from: what the plugin does, whatever it is called by."""
        return {"id": self.id, "kind": self.kind, "version": self.version, "config": self.config}


class Plugin(Value):
    """A plugin with its settings, which are its fields. A kind derives from one of the three classes below, never from this one.

    Attributes:
        id: its name in a ref, under which it is registered.
        version: raised with every change of what it does, so that answers from before and after are of two plugin sets.
        kind: its hook.
    """

    id: ClassVar[str]
    version: ClassVar[str]
    kind: ClassVar[PluginHook]

    @classmethod
    @abstractmethod
    def of_argument(cls, argument: str | None) -> Self:
        """Return the plugin that a ref's argument asks for: the text after the colon, or None where there is no colon.

        Raises:
            InputError: the argument makes no sense, with the rule and the nearest one.
        """

    @property
    @abstractmethod
    def argument(self) -> str:
        """The argument in its one canonical spelling, defaults filled in; empty for a plugin that takes none."""

    @property
    def config(self) -> dict[str, JsonValue]:
        """All that decides what the plugin does beside its version: its settings, unless a kind adds to them."""
        return self.model_dump(mode="json")

    @property
    def stamp(self) -> PluginStamp:
        """The plugin as a record keeps it."""
        return PluginStamp(
            id=self.id,
            ref=f"{REF_PREFIX}{self.id}:{self.argument}" if self.argument else f"{REF_PREFIX}{self.id}",
            kind=self.kind,
            version=self.version,
            config=self.config,
            config_hash=short_digest(canonical_json(self.config).decode()),
        )


class PromptMiddleware(Plugin):
    """Adds to the system prompt of every arm, before the model is asked."""

    kind: ClassVar[PluginHook] = "prompt_middleware"

    @abstractmethod
    def extended_system_prompt(self, system_prompt: str | None) -> str:
        """Return what is sent in place of an arm's system prompt, or of none. The arm's own words stay in it, unchanged."""


class OutputShaper(Plugin):
    """Reshapes an answer into what a user would see, after the model was asked. The judge grades that."""

    kind: ClassVar[PluginHook] = "output_shaper"

    @abstractmethod
    def shaped_answer(self, text: str) -> str:
        """Return the answer that a user would see. Of a text with anything in it but white space, something is left."""


class ToolResultShaper(Plugin):
    """Reshapes what a tool returned before the model reads it. Only arms that offer tools have such results."""

    kind: ClassVar[PluginHook] = "tool_result_shaper"

    @abstractmethod
    def shaped_tool_result(self, text: str) -> str:
        """Return what the model is given in place of a tool's result."""


def with_instruction(system_prompt: str | None, instruction: str) -> str:
    """Return an instruction after an arm's own system prompt, a blank line between (treatment-arms spec, section 5)."""
    return instruction if system_prompt is None else f"{system_prompt}\n\n{instruction}"


def short_digest(text: str) -> str:
    """Return `sha256:` and the first 32 hex digits of the text's digest."""
    return text_digest(text)[: len("sha256:") + DIGEST_HEX]


plugin_kinds: Registry[type[Plugin]] = Registry("plugin_kinds", noun="plugin", kinds_package="evalplatform.plugins.kinds")
