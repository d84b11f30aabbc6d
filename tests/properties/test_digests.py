"""What holds for every JSON value: order of keys never matters, and different values have different canonical forms."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.digests import canonical_json, data_version, json_digest, text_digest

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(list(value))}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def shape(value: Any) -> Any:
    """The value with 1, 1.0 and True told apart, as JSON tells them apart, and -0.0 from 0.0."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else (type(value).__name__, repr(value))


@given(VALUES)
def test_the_order_of_keys_never_changes_a_digest(value: Any) -> None:
    assert canonical_json(reordered(value)) == canonical_json(value)
    assert json_digest(reordered(value)) == json_digest(value)


@given(VALUES)
def test_the_canonical_form_reads_back_as_the_value(value: Any) -> None:
    assert shape(json.loads(canonical_json(value))) == shape(value)


@given(VALUES, VALUES)
def test_different_values_have_different_forms(one: Any, other: Any) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (shape(one) == shape(other))


@given(st.text(st.characters()), st.text(st.characters()))
def test_different_texts_have_different_digests(one: str, other: str) -> None:
    assert (text_digest(one) == text_digest(other)) == (one == other)


@given(st.dictionaries(st.text(), st.text(), max_size=5), st.dictionaries(st.text(), st.text(), max_size=5))
def test_different_inputs_have_different_data_versions(one: dict[str, str], other: dict[str, str]) -> None:
    assert (data_version(one, schema_version="v1") == data_version(other, schema_version="v1")) == (one == other)
