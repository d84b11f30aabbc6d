"""What every registered plugin keeps. A new one inherits this suite by giving refs of which no two ask for the same."""

import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalplatform.kernel.errors import PluginError
from evalplatform.plugins.plugin import OutputShaper, Plugin, PromptMiddleware, ToolResultShaper, plugin_kinds
from evalplatform.plugins.plugin_set import parse_plugin, parse_plugins, plugin_set_id, plugin_set_label, stamped_plugins

EXAMPLES: dict[str, tuple[str, ...]] = {
    "caveman": ("caveman:lite", "caveman:full", "caveman:ultra"),
    "truncate": ("truncate:1", "truncate:80", "truncate:800"),
}
HOOKS = {PromptMiddleware: "prompt_middleware", OutputShaper: "output_shaper", ToolResultShaper: "tool_result_shaper"}
TEXTS = st.text(max_size=200)


@pytest.fixture(params=plugin_kinds.names())
def kind(request: pytest.FixtureRequest) -> str:
    assert EXAMPLES.get(request.param), f"plugin {request.param!r} needs example refs in this suite"
    return str(request.param)


@pytest.fixture
def plugins(kind: str) -> list[Plugin]:
    return [parse_plugin(ref) for ref in EXAMPLES[kind]]


def test_a_list_of_plugins_and_a_label_can_be_written_with_it(kind: str, plugins: list[Plugin]) -> None:
    assert not set(kind) & set(":+, " + string.ascii_uppercase)
    for plugin in plugins:
        assert not set(plugin.argument) & set("+, ")


def test_it_is_registered_under_its_own_name_with_one_hook(kind: str, plugins: list[Plugin]) -> None:
    for plugin in plugins:
        assert plugin.id == kind
        assert [name for hook, name in HOOKS.items() if isinstance(plugin, hook)] == [plugin.kind]
        assert re.fullmatch(r"\d+\.\d+\.\d+", plugin.version)


def test_every_spelling_of_a_ref_is_one_plugin_and_its_canonical_one_gives_it_again(plugins: list[Plugin]) -> None:
    for plugin in plugins:
        label = plugin.stamp.label
        for spelling in (plugin.stamp.ref, label, f"  plugin: {label} ", label.replace(":", " : ")):
            assert parse_plugin(spelling) == plugin
        assert stamped_plugins([plugin.stamp]).plugins == (plugin,)


def test_settings_that_differ_are_other_plugin_sets_under_other_labels(plugins: list[Plugin]) -> None:
    assert len({plugin_set_id([plugin.stamp]) for plugin in plugins}) == len(plugins)
    assert len({plugin_set_label([plugin.stamp]) for plugin in plugins}) == len(plugins)
    assert len({plugin.stamp.config_hash for plugin in plugins}) == len(plugins)


def test_its_stamp_is_json_with_hashes_of_the_formats_length(plugins: list[Plugin]) -> None:
    for plugin in plugins:
        stamp = json.loads(json.dumps(plugin.stamp.model_dump(mode="json"), allow_nan=False))
        assert list(stamp) == ["id", "ref", "kind", "version", "config", "config_hash"]
        assert re.fullmatch(r"sha256:[0-9a-f]{32}", stamp["config_hash"])
        assert re.fullmatch(r"sha256:[0-9a-f]{32}", plugin_set_id([plugin.stamp]))


def test_its_settings_cannot_be_changed(plugins: list[Plugin]) -> None:
    for plugin in plugins:
        for name in type(plugin).model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(plugin, name, getattr(plugin, name))


@pytest.mark.parametrize("argument", ["", "no such thing"])
def test_an_argument_that_makes_no_sense_is_refused_with_the_ref_and_the_rule(kind: str, argument: str) -> None:
    with pytest.raises(PluginError) as error:
        parse_plugin(f"{kind}:{argument}")
    assert error.value.field == f"plugin {f'{kind}:{argument}'!r}"
    assert error.value.rule.endswith(".")


def test_it_is_named_once_in_a_set(kind: str) -> None:
    with pytest.raises(PluginError, match=f"the plugin '{kind}' stands in the set twice"):
        parse_plugins([EXAMPLES[kind][0], EXAMPLES[kind][-1]])


EVERY_PLUGIN = [parse_plugin(ref) for kind in plugin_kinds.names() for ref in EXAMPLES.get(kind, ())]


@given(own=st.none() | TEXTS, plugin=st.sampled_from([one for one in EVERY_PLUGIN if isinstance(one, PromptMiddleware)]))
def test_prompt_middleware_leaves_an_arms_own_words_and_says_the_same_of_every_question(own: str | None, plugin: PromptMiddleware) -> None:
    extended = plugin.extended_system_prompt(own)
    assert extended.startswith(own or "")
    assert len(extended.strip()) > len((own or "").strip())
    assert plugin.extended_system_prompt(own) == extended


@given(text=TEXTS, plugin=st.sampled_from([one for one in EVERY_PLUGIN if isinstance(one, OutputShaper)]))
def test_an_output_shaper_leaves_something_of_whatever_an_answer_says(text: str, plugin: OutputShaper) -> None:
    shaped = plugin.shaped_answer(text)
    assert shaped.strip() or not text.strip()
    assert plugin.shaped_answer(text) == shaped
