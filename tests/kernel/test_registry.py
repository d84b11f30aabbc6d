"""The registry: typos are answered, names are unique, other packages can join."""

from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from threading import Barrier
from time import sleep

import pytest

from evalplatform.kernel import registry as registry_module
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.kernel.registry import Registry


def test_a_typo_is_answered_with_the_near_name() -> None:
    kinds: Registry[int] = Registry("tests", noun="test kind")
    kinds.register("docs")(1)
    with pytest.raises(UnknownNameError, match=r"unknown test kind 'dosc' \(known: docs\)\. Did you mean 'docs'\?"):
        kinds.get("dosc")


def test_names_are_sorted_and_membership_asks_no_error() -> None:
    kinds: Registry[int] = Registry("tests", noun="test kind")
    kinds.register("b")(1)
    kinds.register("a")(2)
    assert list(kinds) == kinds.names() == ["a", "b"]
    assert "a" in kinds
    assert "c" not in kinds
    assert 7 not in kinds


def test_a_name_is_registered_once_and_the_same_member_again_is_fine() -> None:
    kinds: Registry[str] = Registry("tests", noun="test kind")
    first = kinds.register("a")("one")
    assert kinds.register("a")(first) == "one"
    with pytest.raises(ValueError, match="'a' is registered twice"):
        kinds.register("a")("two")


def test_files_of_the_kinds_package_are_found_on_first_use() -> None:
    from evalplatform.judging.judge import judge_kinds

    assert {"overlap", "rubric"} <= set(judge_kinds)


def test_another_package_joins_by_an_entry_point_of_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = EntryPoint("theirs", "evalplatform.kernel.text:plural", "evalplatform.tests")
    asked = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        asked.append(group)
        return [joined]

    monkeypatch.setattr(registry_module, "entry_points", entry_points)
    kinds: Registry[object] = Registry("tests", noun="test kind")
    assert kinds.names() == ["theirs"]
    assert kinds.get("theirs") is joined.load()
    assert asked == ["evalplatform.tests"]  # looked up once


class SlowEntryPoint:
    """An entry point whose loading lets every other thread run meanwhile."""

    def __init__(self, name: str, kinds: "Registry[str]") -> None:
        self.name = name
        self._kinds = kinds

    def load(self) -> str:
        sleep(0.02)
        assert self._kinds.names() is not None  # looks at the others on its way, as an imported module may
        return self.name


def test_threads_that_ask_at_once_all_find_every_member(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: Registry[str] = Registry("tests", noun="test kind")
    monkeypatch.setattr(registry_module, "entry_points", lambda **_: [SlowEntryPoint(name, kinds) for name in ("a", "b")])
    barrier = Barrier(4)

    def ask(name: str) -> str:
        barrier.wait()
        return kinds.get(name)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, ["b", "a", "b", "a"])) == ["b", "a", "b", "a"]


def test_what_failed_to_load_is_loaded_at_the_next_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> list[EntryPoint]:
        raise OSError("the disk went away")

    kinds: Registry[str] = Registry("tests", noun="test kind")
    with monkeypatch.context() as patched:
        patched.setattr(registry_module, "entry_points", broken)
        with pytest.raises(OSError, match="the disk"):
            kinds.names()
    monkeypatch.setattr(registry_module, "entry_points", lambda **_: [SlowEntryPoint("a", kinds)])
    assert kinds.names() == ["a"]
