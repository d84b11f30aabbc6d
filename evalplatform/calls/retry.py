"""The one retry layer: how often, and how long between."""

import random

from pydantic import Field

from evalplatform.kernel.errors import DeferredError, RetryableCallError
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.values import Value


class RetryPolicy(Value):
    """At most `attempts` tries. Waits double from `first_wait_seconds` up to `longest_wait_seconds`, with seeded jitter.

    A server's Retry-After is honoured up to `retry_after_cap_seconds`; a longer one ends the run as deferred, to be resumed later.
    """

    attempts: int = Field(default=4, strict=True, ge=1)
    first_wait_seconds: float = Field(default=0.5, strict=True, ge=0)
    longest_wait_seconds: float = Field(default=20.0, strict=True, ge=0)
    retry_after_cap_seconds: float = Field(default=60.0, strict=True, ge=0)

    def wait_seconds(self, error: RetryableCallError, *, tries: int, request_digest: str) -> float:
        """Return how long to wait after the `tries`-th failed try (1-based).

        The jitter takes the backoff to between half and all of its length; it depends on the request and the try alone, so that a run's
        waits can be repeated.

        Raises:
            DeferredError: the server asks for more than the cap.
        """
        if error.retry_after_seconds is not None:
            if error.retry_after_seconds > self.retry_after_cap_seconds:
                raise DeferredError(
                    f"The endpoint asks to wait {error.retry_after_seconds:,.0f} s; the cap is {self.retry_after_cap_seconds:g} s. "
                    "What is finished is kept; run the same command again later."
                ) from error
            return max(0.0, error.retry_after_seconds)
        backoff_seconds = min(self.longest_wait_seconds, self.first_wait_seconds * 2.0 ** (tries - 1))
        jitter = random.Random(derived_seed("retry", request_digest, tries)).uniform(0.5, 1.0)
        return backoff_seconds * jitter
