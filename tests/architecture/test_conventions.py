"""Conventions that hold over the whole repository."""

import re
import subprocess
from pathlib import Path

import pytest

from evalplatform.adapters.documents.source_kind import document_sources
from evalplatform.adapters.models.open import model_providers
from evalplatform.adapters.stores.open import store_schemes
from evalplatform.arms.kind import arm_kinds
from evalplatform.judging.degradations.degradation import degradations
from evalplatform.judging.judge import judge_kinds
from tests.architecture.test_layers import CODE, ROOT, files, name_of


def committed() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


# A path of somebody's machine works nowhere else. (Written in parts, so that this file does not name one.)
LOCAL_PATHS = re.compile("|".join(f"/{folder}/" for folder in ("work", "home/[a-z]+", "Users/[A-Za-z]+", "root")))


def test_no_committed_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in LOCAL_PATHS.finditer(text)]
    assert found == []


def test_no_key_or_state_is_committed() -> None:
    names = [str(path.relative_to(ROOT)) for path in committed()]
    assert [name for name in names if re.search(r"(^|/)(\.env|\.evalplatform|results|__pycache__)(/|$)|\.(db|sqlite|pem|key)$", name)] == []


@pytest.mark.parametrize("path", files(CODE), ids=name_of)
def test_annotations_are_read_at_run_time_and_imports_are_absolute(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "from __future__ import annotations" not in text
    assert not re.search(r"^\s*from \.", text, re.MULTILINE)
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)


@pytest.mark.parametrize(
    ("registry", "contract"),
    [
        (arm_kinds, "test_arm_kinds.py"),
        (judge_kinds, "test_judge_kinds.py"),
        (degradations, "test_degradations.py"),
        (document_sources, "test_document_sources.py"),
        (store_schemes, "test_object_stores.py"),
        (model_providers, "test_model_clients.py"),
    ],
    ids=["arm kinds", "judge kinds", "degradations", "document sources", "stores", "model providers"],
)
def test_every_kind_of_a_registry_is_held_to_its_contract(registry, contract: str) -> None:  # type: ignore[no-untyped-def]
    """The contract suite takes its kinds from the registry itself, or names every one of them."""
    text = (ROOT / "tests" / "contracts" / contract).read_text(encoding="utf-8")
    taken = re.search(r"(arm_kinds|judge_kinds|degradations|document_sources|store_schemes|model_providers)\.names\(\)", text) is not None
    assert taken or all(f'"{name}"' in text for name in registry)
    assert registry.names()
