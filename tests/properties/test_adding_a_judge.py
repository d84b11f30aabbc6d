"""Adding a judge to a project file, however it is written: what was there stays, and the judge is there."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.add_judge import add_judge
from evalplatform.project.load import load_project
from evalplatform.project.yaml_file import plain, read_yaml_mapping

JUDGE: dict[str, Any] = {"kind": "rubric", "model": "grader: large, #1", "endpoint": "there", "sampling": {"temperature": 0.0, "seed": 7}}

SECTIONS = {
    "head": [
        "# Who made this, and why.\nversion: 1\nproject:   awkward   # three spaces\n",
        "%YAML 1.2\n---\nversion: 0x1\nproject: 'awkward'\n",
        'version: 1\n\n\nproject: "awk\\\n  ward"\n',
    ],
    "endpoints": [
        'endpoints: {here: {provider: offline}, there: {provider: openai-compatible, base_url: "http://127.0.0.1:1/v1"}}\n',
        (
            "endpoints:\n    here:   {provider: offline}\n    there:\n        provider: openai-compatible\n"
            "        base_url: >-\n          http://127.0.0.1:1/v1\n\n\n"
        ),
    ],
    "cells": [
        "cells:\n  # who answers\n  reader: {model: extractive,   endpoint: here}  # cheap\n  # brief: {model: extractive}\n\n",
        "cells:\n    reader:\n        model: extractive\n        endpoint: here\n        sampling: {max_tokens: 1_20}\n",
        "cells: {reader: {model: extractive, endpoint: here}}\n\n",
        (
            "cells:\n  reader: &cell\n    model: extractive\n    endpoint: here\n"
            "  other:\n    <<: *cell\n    sampling: {max_tokens: 9}\n  same: *cell\n"
        ),
    ],
    "judges": [
        "",
        "judges: {}\n",
        "judges: &graders {  }   # none yet\n",
        "judges:\n  facts: {kind: overlap, model: overlap, endpoint: here} # offline\n  # strict: {kind: rubric}\n",
        "judges:\n      facts:\n         kind: overlap\n         model: overlap\n         endpoint: here   # keyless\n\n\n",
        "judges: {facts: {kind: overlap, model: overlap, endpoint: here},}\n",
        'judges: {\n  "facts": {"kind": "overlap", "model": "overlap", "endpoint": "here"} # last\n}\n',
        "judges:\n  facts: &facts {kind: overlap, model: overlap, endpoint: here}\n  same: *facts # again\n",
    ],
    "products": ["products: {kettle: {}}\n", "products:\n  kettle: {}\n# suites come next\n"],
    "suite_judges": [
        "",
        "    judges: []\n",
        "    judges: [ same ]  # one\n",
        "    judges: [\n      same,   # first\n      ]\n",
        "    judges:\n    - same # first\n    # - other\n",
        "    judges:\n      -   'same'\n\n",
        "    judges: &named\n      - same\n",
    ],
}
SUITE = "suites:\n  kettle:\n    product: kettle\n    questions: questions.json\n    arms: [baseline]\n    cells: [reader]   # one cell\n"


@st.composite
def project_texts(draw: st.DrawFn) -> bytes:
    """Project files that load, with sections and line breaks of every kind."""
    parts = {name: draw(st.sampled_from(variants)) for name, variants in SECTIONS.items()}
    known = "same" if "same:" in parts["judges"] else "facts" if "facts" in parts["judges"] else None
    if known is None:
        parts["suite_judges"] = draw(st.sampled_from(["", "    judges: []\n"]))
    suites = SUITE + parts["suite_judges"].replace("same", known or "")
    sections = [parts[name] for name in ("endpoints", "cells", "judges", "products")] + [suites]
    text = parts["head"] + "".join(draw(st.permutations(sections)))
    text += draw(st.sampled_from(["", "# the end\n", "\n\n", "...\n"]))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


def is_kept(old: bytes, new: bytes) -> bool:
    """Whether every byte of the old text stands in the new one, in order."""
    rest = iter(new)
    return all(byte in rest for byte in old)


def data_of(file: Path) -> Any:
    return plain(read_yaml_mapping(file))


@settings(max_examples=80)
@given(project_texts(), st.sampled_from(["strict", "1e3", "null", "2026-01-01", "no", "a.b-c_d"]))
def test_everything_in_the_file_stays_and_the_judge_is_there(before: bytes, judge_id: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "evalplatform.yaml"
        file.write_bytes(before)
        wanted = data_of(file)
        wanted["judges"] = {**wanted.get("judges", {}), judge_id: JUDGE}
        suite = wanted["suites"]["kettle"]
        suite["judges"] = [*suite.get("judges", []), judge_id]

        project = add_judge(load_project(file, environ={}), judge_id, JUDGE)

        after = file.read_bytes()
        assert data_of(file) == wanted
        assert project.judge(judge_id).settings.model == JUDGE["model"]
        assert is_kept(before, after)
        assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in before else 0)
        assert after.endswith(b"\n") == before.endswith(b"\n")
        assert [entry.name for entry in Path(folder).iterdir()] == [file.name]


@settings(max_examples=20)
@given(project_texts())
def test_a_judge_that_cannot_be_used_leaves_the_file_as_it_was(before: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "evalplatform.yaml"
        file.write_bytes(before)
        with pytest.raises(ProjectFileError, match=r"evalplatform\.yaml:\d+: judges\.strict\.kind: unknown judge kind 'rubrik'"):
            add_judge(load_project(file, environ={}), "strict", {**JUDGE, "kind": "rubrik"})
        assert file.read_bytes() == before
        assert [entry.name for entry in Path(folder).iterdir()] == [file.name]
