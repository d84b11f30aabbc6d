"""What a run of many partitions says of itself in one tag."""

from assets.run_tags import MAX_TAG_CHARS, joined_values


def test_a_tag_names_each_value_once_and_in_order() -> None:
    assert joined_values(["b", "a", "b"]) == "b, a"
    assert joined_values([]) == ""


def test_a_tag_of_many_values_is_cut_and_says_how_many_are_left() -> None:
    value = joined_values(f"cell-{number:03}" for number in range(100))
    shown, _, left = value.partition(", and ")
    assert len(shown) <= MAX_TAG_CHARS
    assert len(shown.split(", ")) + int(left.removesuffix(" more")) == 100


def test_one_value_is_never_cut() -> None:
    assert joined_values(["x" * 300]) == "x" * 300
