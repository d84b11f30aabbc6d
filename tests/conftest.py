"""Fixtures that every room's tests can ask for by name."""

from tests.support.servers import postgres, postgres_url, s3_server, s3_url

__all__ = ["postgres", "postgres_url", "s3_server", "s3_url"]
