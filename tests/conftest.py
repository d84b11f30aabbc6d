"""Fixtures that every room's tests can ask for by name."""

import signal

from hypothesis import settings

from tests.support.servers import postgres, postgres_url, redis_url, s3_server, s3_url

__all__ = ["postgres", "postgres_url", "redis_url", "s3_server", "s3_url"]

# A shell without job control ignores Ctrl-C in what it starts in the background, and a command that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example that is slow on a loaded machine is no failure: no test is timed.
settings.register_profile("evalplatform", deadline=None)
settings.load_profile("evalplatform")
