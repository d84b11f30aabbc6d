import pytest

from evalplatform.adapters.documents.open import open_document_source
from evalplatform.kernel.errors import ArmSpecError


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("loacl:docs", "unknown document source 'loacl' (known: context7, local, url). Did you mean 'local'?"),
        ("docs/handbook", "unknown document source 'docs/handbook' (known: context7, local, url)."),
        ("mcp:cmd=x", "document source 'mcp': is not available in this version (available: context7, local, url)."),
        ("local:", "document source 'local': needs a folder: local:<path>."),
        ("local", "document source 'local': needs a folder: local:<path>."),
    ],
)
def test_a_source_that_cannot_be_made_is_refused_by_name(tmp_path, spec, says):
    with pytest.raises(ArmSpecError) as refused:
        open_document_source(spec, base_folder=tmp_path)
    assert str(refused.value) == says


@pytest.mark.parametrize("spec", ["local:docs", "url:https://example.org/guide", "context7:/acme/widgets"])
def test_a_source_is_named_as_it_was_written(tmp_path, spec):
    assert open_document_source(f" {spec} ", base_folder=tmp_path).name == spec


def test_a_path_may_hold_a_colon(tmp_path):
    assert open_document_source("local:a:b", base_folder=tmp_path).name == "local:a:b"
