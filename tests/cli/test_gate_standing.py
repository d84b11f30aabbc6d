"""What a gate answered and what is remembered of it are the same, whatever its batches hold."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from evalplatform.runs.bundle import BundleSummary
from tests.cli.conftest import Command
from tests.cli.test_gate import cases, on_main, pushed
from tests.support.compared_batches import Told

STANDINGS = {0: "clean", 1: "flagged", 2: "a failed check"}
STATES = {0: {"passed", "skipped"}, 1: {"failure"}, 2: {"error"}}


def drawn(chance: random.Random, hours: int) -> BundleSummary:
    """A batch of a few scenarios of every kind: steady, flaky, failing, that could not run, with one run or many, replayed or live."""
    told: dict[str, Told] = {}
    for name in chance.sample(["a", "b", "c", "d"], chance.randint(1, 4)):
        letters = chance.choice(["P", "P", "PPPF", "F", "PPPPPPPPPH", "HU"])
        told[name] = Told("".join(chance.choice(letters) for _ in range(chance.choice([1, 1, 4, 10]))))
    facts: dict[str, Any] = {"policy": chance.choice([None, {"target_drop": 50}])}
    return on_main(told, hours=hours, **facts)


@pytest.mark.parametrize("seed", range(2))
def test_a_gate_that_failed_is_never_remembered_as_clean(command: Command, project: Path, seed: int) -> None:
    chance = random.Random(seed)
    pushed(command, drawn(chance, 0))
    for hours in range(1, 5):
        pushed(command, drawn(chance, hours))
        against = chance.choice([(), ("--baseline-branch", "main")])
        ran = command("gate", *against, "--record", "--junit", "j.xml")
        said = re.search(r"^gate \S+: remembered on main; (.+)$", ran.err, re.M)
        if said is None:
            assert ran.code == 2, "only what finds no baseline is not remembered"
        else:
            assert said[1] == STANDINGS[ran.code]
        states = set(cases(Path("j.xml")).values())
        assert states & STATES[ran.code]
        assert ran.code == 1 or "failure" not in states
        assert ran.code == 2 or ran.code == 1 or "error" not in states
