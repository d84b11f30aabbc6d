"""Fixtures that every room's tests can ask for by name."""

from hypothesis import settings

from tests.support.servers import postgres, postgres_url, redis_url, s3_server, s3_url

__all__ = ["postgres", "postgres_url", "redis_url", "s3_server", "s3_url"]

# An example that is slow on a loaded machine is no failure: no test is timed.
settings.register_profile("evalplatform", deadline=None)
settings.load_profile("evalplatform")
