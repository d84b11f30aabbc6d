from pathlib import Path

import pytest

from evalplatform.arms.kind import ArmBuildContext
from evalplatform.arms.library_ids import service_library
from evalplatform.kernel.errors import ArmSpecError
from tests.support.documents import ScriptedSource


def library(**known: object) -> str:
    context = ArmBuildContext(base_folder=Path(), open_document_source=lambda spec: ScriptedSource(), **known)
    return service_library(context, spec="docs")


def test_the_id_given_for_the_run_wins_over_the_registry():
    assert library(product="widgets", context7_id="acme/widgets/v2", library_ids={"widgets": "/acme/widgets"}) == "/acme/widgets/v2"


@pytest.mark.parametrize("registered", ["acme/widgets", "/acme/widgets", " /acme/widgets/ "])
def test_a_registered_product_is_asked_about_by_its_id(registered):
    assert library(product="widgets", library_ids={"widgets": registered}) == "/acme/widgets"


def test_a_qualified_product_that_is_not_registered_is_left_to_the_service_to_find():
    assert library(product="acme/widgets") == "acme/widgets"


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"product": "widgets", "library_ids": {"widgets": None}}, "product widgets: is registered without a library id"),
        ({"product": "acme/widgets", "library_ids": {"acme/widgets": None}}, "is registered without a library id"),
        ({"product": "widgits", "library_ids": {"widgets": "/a/b"}}, "neither registered nor qualified"),
        ({"product": "widgits", "library_ids": {"widgets": "/a/b"}}, "Did you mean 'widgets'?"),
        ({}, "the run has no product"),
        ({"product": "a/b", "context7_id": "widgets"}, "--context7-id: 'widgets' is no library id"),
        ({"product": "w", "library_ids": {"w": "widgets"}}, "product w: library id: 'widgets' is no library id"),
    ],
)
def test_a_library_that_cannot_be_told_is_refused(known, says):
    with pytest.raises(ArmSpecError) as refused:
        library(**known)
    assert says in str(refused.value)
