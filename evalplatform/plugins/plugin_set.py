"""Plugin sets: from refs as written to the plugins of a cell, in order, with the id that says what they do (treatment-arms spec, 5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import InputError, PluginError, nearest_name
from evalplatform.plugins.plugin import (
    REF_PREFIX,
    OutputShaper,
    Plugin,
    PluginStamp,
    PromptMiddleware,
    ToolResultShaper,
    plugin_kinds,
    short_digest,
)

NO_PLUGINS_LABEL = "none"
EMPTY_PLUGIN_SET_ID = short_digest("")
"""The id of a set without plugins: by the format, the digest of the empty text and not that of an empty list."""


@dataclass(frozen=True)
class PluginSet:
    """The plugins of a cell, applied in their order."""

    plugins: tuple[Plugin, ...] = ()

    @cached_property
    def stamps(self) -> tuple[PluginStamp, ...]:
        """The plugins as a record keeps them."""
        return tuple(plugin.stamp for plugin in self.plugins)

    @property
    def shapes_answers(self) -> bool:
        """Whether what a user would see can differ from what the model wrote."""
        return any(isinstance(plugin, OutputShaper) for plugin in self.plugins)

    def extended_system_prompt(self, system_prompt: str | None) -> str | None:
        """Return what is sent in place of an arm's system prompt; None where neither the arm nor a plugin has anything to say."""
        for plugin in self.plugins:
            if isinstance(plugin, PromptMiddleware):
                system_prompt = plugin.extended_system_prompt(system_prompt)
        return system_prompt

    def shaped_answer(self, text: str) -> str:
        """Return what a user would see of a model's answer."""
        for plugin in self.plugins:
            if isinstance(plugin, OutputShaper):
                text = plugin.shaped_answer(text)
        return text

    def shaped_tool_result(self, text: str) -> str:
        """Return what the model is given of a tool's result."""
        for plugin in self.plugins:
            if isinstance(plugin, ToolResultShaper):
                text = plugin.shaped_tool_result(text)
        return text


NO_PLUGINS = PluginSet()


def plugin_refs(text: str) -> tuple[str, ...]:
    """Return the refs of a comma list such as `--plugins` takes: trimmed, empty ones dropped. An empty list is no plugin."""
    return tuple(ref for item in text.split(",") if (ref := item.strip()))


def parse_plugins(refs: Iterable[str]) -> PluginSet:
    """Return the plugin set that refs ask for.

    Raises:
        PluginError: a ref is wrong, or two refs ask for one plugin. Twice the same is never meant: of two levels the model would be told
            both, and of two cuts the shorter is all that shows.

    Example:
        >>> plugin_set_label(parse_plugins(["caveman", "plugin:truncate:060"]).stamps)
        'caveman:full+truncate:60'
    """
    plugins: list[Plugin] = []
    for ref in refs:
        plugin = parse_plugin(ref)
        if first := next((other for other in plugins if other.id == plugin.id), None):
            labels = f"{first.stamp.label} and {plugin.stamp.label}"
            raise _error(ref, f"the plugin {plugin.id!r} stands in the set twice ({labels}); name it once.")
        plugins.append(plugin)
    return PluginSet(tuple(plugins))


def stamped_plugins(stamps: Iterable[PluginStamp]) -> PluginSet:
    """Return the plugin set that stamps record. Raises PluginError where a plugin is no longer installed."""
    return parse_plugins(stamp.ref for stamp in stamps)


def parse_plugin(ref: str) -> Plugin:
    """Return the plugin that a ref asks for: `[plugin:]<id>[:<argument>]`, spaces around each part dropped.

    Raises:
        PluginError: an unknown plugin, with the nearest, or an argument that makes no sense for it.
    """
    plugin_id, colon, argument = (part.strip() for part in ref.strip().removeprefix(REF_PREFIX).partition(":"))
    if plugin_id not in plugin_kinds:
        known = plugin_kinds.names()
        raise _error(ref, f"unknown plugin {plugin_id!r} (known: {', '.join(known)}).", nearest=nearest_name(plugin_id, known))
    try:
        return plugin_kinds.get(plugin_id).of_argument(argument if colon else None)
    except InputError as error:
        raise _error(ref, error.rule, nearest=error.nearest) from None


def plugin_set_label(stamps: Sequence[PluginStamp]) -> str:
    """Return how reports name a plugin set: `caveman:full+truncate:60` in the order of application, `none` where there is none."""
    return "+".join(stamp.label for stamp in stamps) or NO_PLUGINS_LABEL


def plugin_set_id(stamps: Sequence[PluginStamp]) -> str:
    """Return the id of what a plugin set does: `sha256:` and 32 hex digits of the stamps' canonical JSON, order included.

    Refs in stamps are canonical, so every spelling of a set has one id. The empty set has a fixed one.
    """
    if not stamps:
        return EMPTY_PLUGIN_SET_ID
    return short_digest(canonical_json([stamp.model_dump(mode="json") for stamp in stamps]).decode())


def _error(ref: str, rule: str, *, nearest: str | None = None) -> PluginError:
    return PluginError(rule, field=f"plugin {ref.strip()!r}", nearest=nearest)
