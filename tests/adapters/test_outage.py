from evalplatform.adapters.outage import LONGEST_WAIT_SECONDS, Outage


class Waits:
    """A clock that only pausing moves."""

    def __init__(self, patience_seconds: float) -> None:
        self.seconds = 0.0
        self.pauses: list[float] = []
        self.outage = Outage(patience_seconds, clock=lambda: self.seconds, pause=self.pause)
        self.outage.answered()

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds


def test_an_outage_is_waited_for_with_longer_and_longer_pauses_until_patience_has_run_out() -> None:
    waits = Waits(10)
    while waits.outage.waited():
        pass
    assert 10 <= waits.seconds < 10 + LONGEST_WAIT_SECONDS
    assert waits.pauses == sorted(waits.pauses)
    assert max(waits.pauses) == LONGEST_WAIT_SECONDS


def test_once_patience_has_run_out_nobody_waits_until_the_database_has_answered() -> None:
    waits = Waits(1)
    while waits.outage.waited():
        pass
    assert [waits.outage.waited() for _ in range(3)] == [False] * 3
    waits.outage.answered()
    assert waits.outage.waited()


def test_without_patience_the_first_failure_is_the_last() -> None:
    waits = Waits(0)
    assert not waits.outage.waited()
    assert waits.pauses == []


def test_what_has_never_answered_is_not_waited_for() -> None:
    assert not Outage(10, pause=lambda seconds: None).waited()
