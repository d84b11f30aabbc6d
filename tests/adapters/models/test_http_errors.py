import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.models.http_errors import error_for_status, retry_after_seconds, without_secret
from evalplatform.kernel.errors import FatalCallError, RetryableCallError

NOW = datetime(2026, 12, 2, 7, 27, 30, tzinfo=UTC)
CASES = json.loads((Path(__file__).parents[2] / "cases" / "pitfalls.json").read_text())


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (307, FatalCallError, "redirected"),
        (400, FatalCallError, "bad_request"),
        (401, FatalCallError, "auth"),
        (402, FatalCallError, "quota"),
        (403, FatalCallError, "auth"),
        (404, FatalCallError, "not_found"),
        (413, FatalCallError, "bad_request"),
        (422, FatalCallError, "bad_request"),
        (408, RetryableCallError, "timeout"),
        (409, RetryableCallError, "conflict"),
        (425, RetryableCallError, "too_early"),
        (429, RetryableCallError, "rate_limited"),
        (500, RetryableCallError, "server_error"),
        (502, RetryableCallError, "server_error"),
        (503, RetryableCallError, "overloaded"),
        (504, RetryableCallError, "timeout"),
        (529, RetryableCallError, "overloaded"),
    ],
)
def test_every_status_has_its_typed_error(status: int, kind: type[Exception], reason: str) -> None:
    error = error_for_status(status, "no\n luck", who="m at host")
    assert (type(error), error.reason, error.status) == (kind, reason, status)
    assert str(error) == f"m at host answered HTTP {status}: no luck"


def test_a_used_up_quota_is_not_asked_again_though_its_status_is_429() -> None:
    error = error_for_status(429, "check your plan", who="m", code="insufficient_quota", retry_after_seconds=1.0)
    assert isinstance(error, FatalCallError)
    assert error.reason == "quota"


def test_the_servers_text_is_clipped_at_300_characters() -> None:
    assert str(error_for_status(400, "x" * 900, who="m")).endswith(": " + "x" * 300 + "…")


def test_m04_retry_after_as_seconds_as_a_date_as_a_day_and_as_garbage() -> None:
    responses = next(case for case in CASES if case["id"] == "M04")["input"]["responses"]
    waits = [retry_after_seconds({name: value for name, value in answer.items() if name != "status"}, now=NOW) for answer in responses]
    assert waits == [2.0, 30.0, 86_400.0, None, None]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"RETRY-AFTER": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"Retry-After": "Wed, 02 Dec 2026 07:00:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 02 Dec 2026 07:27:31 -0000"}, 1.0),
        ({"Retry-After": "Wed, 02 Dec 2026 09:27:40 +0200"}, 10.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "1e999"}, None),
        ({"Retry-After": "Wed, 99 Dec 2026 07:28:00 GMT"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_or_is_none(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, now=NOW) == seconds


@given(st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{1,6} \d\d:\d\d:\d\d [+-]?\w{0,6}", fullmatch=True))
def test_no_retry_after_header_can_break_a_call(text: str) -> None:
    seconds = retry_after_seconds({"Retry-After": text, "retry-after-ms": text}, now=NOW)
    assert seconds is None or seconds >= 0


def test_a_secret_is_blanked_wherever_it_stands() -> None:
    assert without_secret("key sk-1 and sk-1", "sk-1") == "key [key] and [key]"
    assert without_secret("no key", None) == "no key"
