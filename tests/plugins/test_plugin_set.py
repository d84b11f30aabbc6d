"""Plugin sets: how they are written, what they are called, and which of them are the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, canonical_json, text_digest
from evalplatform.kernel.errors import PluginError
from evalplatform.plugins.harness import PLUGIN_HARNESSES, refuse_unsupported_harness
from evalplatform.plugins.kinds.caveman import INSTRUCTIONS
from evalplatform.plugins.plugin_set import (
    EMPTY_PLUGIN_SET_ID,
    NO_PLUGINS,
    parse_plugin,
    parse_plugins,
    plugin_refs,
    plugin_set_id,
    plugin_set_label,
)

REFS = st.one_of(
    st.sampled_from(["caveman", "caveman:lite", "caveman:full", "caveman:ultra"]),
    st.integers(1, 10_000).map(lambda chars: f"truncate:{chars}"),
)
SETS = st.lists(REFS, max_size=2, unique_by=lambda ref: ref.partition(":")[0])


def set_id(*refs: str) -> str:
    return plugin_set_id(parse_plugins(refs).stamps)


def test_a_label_keeps_the_order_and_fills_in_what_was_left_out() -> None:
    assert plugin_set_label(parse_plugins(["caveman", "plugin:truncate:60"]).stamps) == "caveman:full+truncate:60"
    assert plugin_set_label(parse_plugins(["truncate", "caveman:ultra"]).stamps) == "truncate:800+caveman:ultra"
    assert plugin_set_label(()) == "none"


def test_a_comma_list_is_trimmed_and_an_empty_one_is_no_plugin() -> None:
    assert plugin_refs(" caveman:lite , ,plugin:truncate:80,") == ("caveman:lite", "plugin:truncate:80")
    assert plugin_refs("") == plugin_refs(" , ") == ()


def test_the_empty_set_has_the_id_of_the_empty_text() -> None:
    assert set_id() == EMPTY_PLUGIN_SET_ID == EMPTY_TEXT_DIGEST[: len("sha256:") + 32]
    assert text_digest("[]")[: len(EMPTY_PLUGIN_SET_ID)] != EMPTY_PLUGIN_SET_ID


def test_a_set_that_other_tools_have_too_has_the_id_that_they_give_it() -> None:
    """The number is that of the tool the format comes from, for a ref in its canonical spelling."""
    (stamp,) = parse_plugins(["truncate:80"]).stamps
    assert stamp.config_hash == "sha256:f4ad4b845ef75fc67c00b76e8bbfedd0"
    assert set_id("truncate:80") == "sha256:93d2c9cbd3e7fb809dd66bf8df035cd4"


@given(refs=SETS)
def test_an_id_is_computed_again_from_the_stamps_alone(refs: list[str]) -> None:
    stamps = [stamp.model_dump(mode="json") for stamp in parse_plugins(refs).stamps]
    text = json.dumps(stamps, sort_keys=True, separators=(",", ":"))
    assert text == canonical_json(stamps).decode()
    assert set_id(*refs) == (text_digest(text)[: len("sha256:") + 32] if stamps else EMPTY_PLUGIN_SET_ID)


@given(refs=SETS, spaces=st.text(" \t", max_size=2), prefixed=st.booleans())
def test_spelling_never_matters_to_an_id(refs: list[str], spaces: str, prefixed: bool) -> None:
    def spelt(ref: str) -> str:
        full = {"caveman": "caveman:full", "caveman:full": "caveman"}.get(ref, ref).replace("truncate:", "truncate:0")
        return f"{spaces}{'plugin:' if prefixed else ''}{full}{spaces}"

    assert parse_plugins(map(spelt, refs)) == parse_plugins(refs)
    assert set_id(*map(spelt, refs)) == set_id(*refs)


@given(first=SETS, second=SETS)
def test_order_and_settings_always_matter_to_an_id(first: list[str], second: list[str]) -> None:
    same = parse_plugins(first) == parse_plugins(second)
    assert (set_id(*first) == set_id(*second)) is same
    assert (plugin_set_label(parse_plugins(first).stamps) == plugin_set_label(parse_plugins(second).stamps)) is same


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        ("cavman", "plugin 'cavman': unknown plugin 'cavman' (known: caveman, truncate). Did you mean 'caveman'?"),
        ("plugin:", "plugin 'plugin:': unknown plugin '' (known: caveman, truncate)."),
        ("Caveman", "plugin 'Caveman': unknown plugin 'Caveman' (known: caveman, truncate). Did you mean 'caveman'?"),
        ("caveman:Full", "plugin 'caveman:Full': 'Full' is no level; use lite, full, ultra. Did you mean 'full'?"),
        ("caveman:", "plugin 'caveman:': '' is no level; use lite, full, ultra."),
        (
            " truncate:-1",
            "plugin 'truncate:-1': '-1' is no number of characters; use a whole number from 1 to 999,999,999, in digits.",
        ),
    ],
)
def test_a_wrong_ref_is_named_with_the_rule_and_the_nearest(ref: str, sentence: str) -> None:
    with pytest.raises(PluginError) as error:
        parse_plugin(ref)
    assert str(error.value) == sentence


def test_a_plugin_stands_in_a_set_once_since_twice_is_never_meant() -> None:
    rule = r"plugin 'truncate:60': the plugin 'truncate' stands in the set twice \(truncate:800 and truncate:60\); name it once\."
    with pytest.raises(PluginError, match=rule):
        parse_plugins(["truncate", "caveman", "truncate:60"])
    with pytest.raises(PluginError, match="twice"):
        parse_plugins(["caveman", "plugin:caveman:full"])


def test_a_set_does_what_its_plugins_do_and_no_more() -> None:
    both = parse_plugins(["caveman:lite", "truncate:4"])
    assert both.extended_system_prompt("Own.") == f"Own.\n\n{INSTRUCTIONS['lite']}"
    assert both.shaped_answer("abcdef") == "abc…"
    assert both.shaped_tool_result("abcdef") == "abcdef"
    assert both.shapes_answers
    assert not parse_plugins(["caveman"]).shapes_answers
    assert (NO_PLUGINS.extended_system_prompt(None), NO_PLUGINS.extended_system_prompt("Own.")) == (None, "Own.")
    assert (NO_PLUGINS.shaped_answer("abcdef"), NO_PLUGINS.shapes_answers) == ("abcdef", False)


@pytest.mark.parametrize("harness", PLUGIN_HARNESSES)
def test_four_harnesses_can_run_plugins(harness: str) -> None:
    refuse_unsupported_harness(harness, "caveman:full")


def test_another_harness_is_refused_with_the_nearest_that_can() -> None:
    sentence = (
        "harness: 'openclaw' cannot run the plugin set truncate:60; with plugins, use arms-runner, single-shot, agent, openclaw-agent."
    )
    with pytest.raises(PluginError) as error:
        refuse_unsupported_harness("openclaw", "truncate:60")
    assert str(error.value) == f"{sentence} Did you mean 'openclaw-agent'?"
