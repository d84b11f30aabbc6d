"""Small rules about text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.text import masked_url

PASSWORDS = st.text(st.characters(codec="ascii", exclude_characters="/?#@:% ", min_codepoint=33), min_size=4, max_size=20)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://me@host/db?password=secret&sslmode=require", "postgresql://me@host/db?password=***&sslmode=require"),
        ("postgresql://me:se@cret@host/db", "postgresql://me:***@host/db"),
        ("redis://:secret@host/0", "redis://:***@host/0"),
        ("s3://bucket/prefix?region=eu", "s3://bucket/prefix?region=eu"),
        ("s3://b/p?endpoint_url=http://me:secret@host:1&region=eu", "s3://b/p?endpoint_url=http://me:***@host:1&region=eu"),
        ("s3://b/p?endpoint_url=http%3A%2F%2Fme%3Asecret%40host", "s3://b/p?endpoint_url=http%3A%2F%2Fme%3A***%40host"),
        ('no endpoint: "http://me:secret@host:1/b" from http://a/b', 'no endpoint: "http://me:***@host:1/b" from http://a/b'),
        ("sqlite:///.evalplatform/evalplatform.db", "sqlite:///.evalplatform/evalplatform.db"),
        ("no address at all", "no address at all"),
    ],
)
def test_an_address_is_shown_without_its_password(url, shown):
    assert masked_url(url) == shown


@given(password=PASSWORDS)
def test_no_password_of_an_address_is_shown(password):
    assert masked_url(f"postgresql://me:{password}@host/db") == "postgresql://me:***@host/db"
