"""Addresses of downloads: written and read back, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.artifacts.download_paths import ROOT, BundleAddress, FileAddress, bundle_address, read_address
from evalplatform.artifacts.records import MANIFEST_NAME, ArtifactId
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import KEY_PATTERN

keys = st.from_regex(KEY_PATTERN, fullmatch=True).filter(lambda key: len(key) <= 100)
files = keys.filter(lambda key: key not in (MANIFEST_NAME, "reports.zip"))
partitions = st.lists(keys, min_size=1, max_size=3).map("/".join)
artifacts = st.builds(ArtifactId, suite=keys, asset=keys, partition=partitions)


@given(st.builds(FileAddress, artifact=artifacts, file=files, version=st.none() | keys))
def test_a_files_address_is_read_back_as_it_was_written(address: FileAddress) -> None:
    assert read_address(address.path.removeprefix(ROOT)) == address


@given(suite=keys, partition=partitions, version=st.none() | keys)
def test_a_bundles_address_is_read_back_as_it_was_written(suite: str, partition: str, version: str | None) -> None:
    address = bundle_address(suite, partition, version)
    assert read_address(address.path.removeprefix(ROOT)) == address
    assert isinstance(address, BundleAddress)


@given(st.text(alphabet="ab./@%\\\0-", max_size=40))
def test_any_text_is_an_address_of_safe_keys_or_refused(text: str) -> None:
    try:
        address = read_address(text)
    except InputError:
        return
    assert not any(part.startswith(".") or part == "" for part in address.path.removeprefix(ROOT).replace("@", "").split("/"))


@pytest.mark.parametrize(
    "text",
    ["", "a/b", "a/b/c", "a/reports.zip", "reports.zip", "a/b/c/d/e/f/g.csv", "a/b/c/manifest.json", "a/b/@/c/d.csv", "a/b/c/@v"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_address(text)
