"""Whom the circuit breaker stops: the model that fails, or everybody who asks its endpoint."""

import pytest

from evalplatform.calls.breaker import FAILURES_TO_OPEN, FATAL_FAILURES_TO_OPEN, CircuitBreaker
from evalplatform.kernel.errors import CircuitOpenError, FatalCallError, RetryableCallError

OVERLOAD = RetryableCallError("overloaded", "the server answered HTTP 503", status=503)
NO_MODEL = FatalCallError("not_found", "the server answered HTTP 404", status=404)
WRONG_KEY = FatalCallError("auth", "the server answered HTTP 401", status=401)


def test_an_overload_in_which_nobody_gets_a_reply_stops_the_judge_too() -> None:
    breaker = CircuitBreaker()
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(OVERLOAD, model="answerer")
    with pytest.raises(CircuitOpenError, match="Stopped after 8 identical failures"):
        breaker.check("grader")


def test_a_model_that_alone_is_overloaded_does_not_stop_its_neighbours() -> None:
    breaker = CircuitBreaker()
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(OVERLOAD, model="answerer")
        breaker.succeeded("grader")
    breaker.check("grader")
    with pytest.raises(CircuitOpenError):
        breaker.check("answerer")


def test_a_model_that_does_not_exist_stops_itself_alone() -> None:
    breaker = CircuitBreaker()
    for _ in range(FATAL_FAILURES_TO_OPEN):
        breaker.failed(NO_MODEL, model="misspelt")
    breaker.check("answerer")
    with pytest.raises(CircuitOpenError, match="Stopped after 3 identical failures"):
        breaker.check("misspelt")


def test_a_wrong_key_stops_everybody() -> None:
    breaker = CircuitBreaker()
    for _ in range(FATAL_FAILURES_TO_OPEN):
        breaker.failed(WRONG_KEY, model="answerer")
    with pytest.raises(CircuitOpenError):
        breaker.check("grader")
