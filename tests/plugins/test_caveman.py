"""Caveman: three levels, one wording each, after an arm's own words."""

import pytest

from evalplatform.kernel.digests import json_digest, text_digest
from evalplatform.plugins.kinds.caveman import INSTRUCTIONS, LEVELS, Caveman


def test_the_version_is_raised_with_every_change_of_the_wording() -> None:
    """Where this fails, the wording has changed: raise `Caveman.version`, and add the new digest beside it."""
    assert {Caveman.version: json_digest(dict(INSTRUCTIONS))} == {
        "0.1.0": "sha256:09c812ae3d131a4a174057300568632affabc9c315f40839a1ee61cd5403ee19",
    }


def test_the_levels_are_three_and_full_is_meant_where_none_is_named() -> None:
    assert LEVELS == ("lite", "full", "ultra") == tuple(INSTRUCTIONS)
    assert len(set(INSTRUCTIONS.values())) == 3
    assert Caveman() == Caveman(level="full")


@pytest.mark.parametrize("level", LEVELS)
def test_the_instruction_stands_after_an_arms_own_words_with_a_blank_line_between(level: str) -> None:
    plugin = Caveman.of_argument(level)
    assert plugin.extended_system_prompt(None) == plugin.instruction == INSTRUCTIONS[plugin.level]
    assert plugin.extended_system_prompt("Be kind.\nAlways.") == f"Be kind.\nAlways.\n\n{plugin.instruction}"


def test_the_wording_is_part_of_what_the_plugin_sets_id_covers() -> None:
    assert Caveman(level="lite").config == {"level": "lite", "instruction_sha256": text_digest(INSTRUCTIONS["lite"])}
