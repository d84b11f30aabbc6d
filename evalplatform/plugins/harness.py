"""Which harnesses can run plugins. Without a plugin, the harness is a free label."""

from evalplatform.kernel.errors import PluginError, nearest_name

PLUGIN_HARNESSES = ("arms-runner", "single-shot", "agent", "openclaw-agent")


def refuse_unsupported_harness(harness: str, plugin_set: str) -> None:
    """Return nothing if the harness can run a plugin set, given its label (treatment-arms spec, section 5).

    Raises:
        PluginError: it cannot; the field is `harness`, and the nearest harness that can is named.
    """
    if harness not in PLUGIN_HARNESSES:
        raise PluginError(
            f"{harness!r} cannot run the plugin set {plugin_set}; with plugins, use {', '.join(PLUGIN_HARNESSES)}.",
            field="harness",
            nearest=nearest_name(harness, PLUGIN_HARNESSES),
        )
