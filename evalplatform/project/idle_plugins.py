"""Plugins that nothing in a suite would run: on record they would be a treatment, and they would change nothing."""

from collections.abc import Iterable

from evalplatform.arms.grammar import parse_spec
from evalplatform.kernel.errors import PluginError
from evalplatform.plugins.plugin import PluginStamp


def refuse_idle_plugins(plugins: Iterable[PluginStamp], arm_specs: Iterable[str], *, cell: str) -> None:
    """Return nothing if each of a cell's plugins has something to work on under these arms; one arm is enough.

    A tool-result shaper works on what tools return, so some arm has to offer the model tools.

    Args:
        plugins: the cell's.
        arm_specs: the specs of the suite's arms.
        cell: what the cell is called.

    Raises:
        PluginError: a plugin would do nothing. It names the cell, the plugin and the rule; the field is `plugins`.
    """
    idle = next((stamp for stamp in plugins if stamp.kind == "tool_result_shaper"), None)
    if idle is None or any(parse_spec(spec).uses_tools for spec in arm_specs):
        return
    rule = (
        f"the plugin {idle.label} of the cell {cell!r} reshapes what tools return, and no arm of the suite offers the model a tool: "
        "it would be on record and change nothing. Leave it out, or add an arm with tools."
    )
    raise PluginError(rule, field="plugins")
