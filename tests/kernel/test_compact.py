from evalplatform.kernel.compact import SHARED_TEXT_LIMIT_CHARS, Compactor
from evalplatform.kernel.values import Value


class Leaf(Value):
    name: str
    weight: float | None = None


class Branch(Value):
    text: str
    leaf: Leaf
    leaves: tuple[Leaf, ...] = ()


def new(text: str) -> str:
    """An equal text that is another object, as a file's reader makes them."""
    return "".join(list(text))


def branch(text: str) -> Branch:
    return Branch(text=new(text), leaf=Leaf(name=new("a name"), weight=1.0), leaves=(Leaf(name=new("a name")), Leaf(name=new("b name"))))


def test_equal_parts_of_records_become_one_and_the_records_stay_equal() -> None:
    first, second = branch("some text"), branch("some text")
    untouched = branch("some text")
    assert first.text is not second.text
    compactor = Compactor()
    compactor.compact(first)
    compactor.compact(second)
    assert first == second == untouched
    assert first.model_dump_json() == untouched.model_dump_json()
    assert first.text is second.text
    assert first.leaf.name is second.leaves[0].name
    assert first.model_fields_set is second.model_fields_set


def test_fields_that_were_given_stay_told_apart() -> None:
    compactor = Compactor()
    full, bare = Leaf(name="a", weight=1.0), Leaf(name="a")
    compactor.compact(full)
    compactor.compact(bare)
    assert full.model_fields_set == {"name", "weight"}
    assert bare.model_fields_set == {"name"}


def test_long_texts_are_left_alone() -> None:
    long = "x" * (SHARED_TEXT_LIMIT_CHARS + 1)
    first, second = branch(long), branch(long)
    compactor = Compactor()
    compactor.compact(first)
    compactor.compact(second)
    assert first.text == second.text
    assert first.text is not second.text
