from evalplatform.calls.failures import FIRST_LIMIT_CHARS, failures_of


def test_failures_are_counted_by_what_stands_before_the_second_colon() -> None:
    found = failures_of(["a: auth: HTTP 401: no", "a: auth: HTTP 401: never", "a: timeout", "b"])
    assert found.counts == {"a: auth": 2, "a: timeout": 1, "b": 1}
    assert found.first == "a: auth: HTTP 401: no"


def test_the_first_reason_is_one_that_says_more_than_the_counts_where_there_is_one() -> None:
    assert failures_of(["a: timeout", "a: timeout", "a: auth: HTTP 401", "a: auth: HTTP 403"]).first == "a: auth: HTTP 401"
    assert failures_of(["a: timeout", "b"]).first == "a: timeout"


def test_nothing_failed_has_no_first_reason_and_a_long_one_is_clipped() -> None:
    assert failures_of([]).first is None
    assert failures_of(["a: auth: " + "x" * 1_000]).first == ("a: auth: " + "x" * 1_000)[:FIRST_LIMIT_CHARS] + "…"
