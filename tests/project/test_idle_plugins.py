"""Plugins that would have nothing to work on."""

import pytest

from evalplatform.arms.kind import ArmKind, arm_kinds
from evalplatform.kernel.errors import PluginError
from evalplatform.plugins.plugin import PluginHook, PluginStamp
from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.project.idle_plugins import refuse_idle_plugins


def stamp(kind: PluginHook) -> PluginStamp:
    return PluginStamp(id="redact", ref="plugin:redact:key", kind=kind, version="1.0.0", config={}, config_hash="sha256:00")


def test_a_tool_result_shaper_needs_an_arm_with_tools() -> None:
    with pytest.raises(PluginError, match=r"^plugins: the plugin redact:key of the cell 'c' reshapes what tools return, and no arm"):
        refuse_idle_plugins([stamp("tool_result_shaper")], ["baseline", "docs:local:docs+skill:s"], cell="c")


def test_other_plugins_work_on_every_arm() -> None:
    plugins = (stamp("prompt_middleware"), stamp("output_shaper"), *parse_plugins(["caveman", "truncate"]).stamps)
    refuse_idle_plugins(plugins, ["baseline"], cell="c")


def test_one_arm_with_tools_is_enough_also_as_a_part_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = arm_kinds.get("skill")
    with_tools = ArmKind(build=plain.build, argument="required", uses_tools=True)
    kinds = {**{name: arm_kinds.get(name) for name in arm_kinds.names()}, "skill": with_tools}
    monkeypatch.setattr(arm_kinds, "get", kinds.__getitem__)
    for arms in (["baseline", "skill:s"], ["baseline", "docs:local:docs+skill:s"]):
        refuse_idle_plugins([stamp("tool_result_shaper")], arms, cell="c")
    with pytest.raises(PluginError):
        refuse_idle_plugins([stamp("tool_result_shaper")], ["baseline", "docs:local:docs"], cell="c")
