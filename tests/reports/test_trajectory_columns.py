"""Two runs side by side in a terminal."""

import unicodedata

from evalplatform.reports.trajectory_columns import trajectory_columns
from evalplatform.runs.trajectory import MessageStep, Trajectory
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.trajectories import trajectory_of


def columns(a: Trajectory, b: Trajectory, width_chars: int = 65) -> list[str]:
    return list(trajectory_columns(a, b, diff_trajectories(a, b), width_chars=width_chars))


def test_both_runs_stand_side_by_side_and_the_split_is_marked() -> None:
    a = trajectory_of("user agent user lookup agent user escalate agent files:a.txt")
    b = trajectory_of("user agent user lookup agent user refund lookup agent files")
    assert columns(a, b) == [
        "   A                               B",
        "      1 user: said                    1 user: said",
        "      2 agent: said                   2 agent: said",
        "      3 user: said                    3 user: said",
        "      4 lookup {}                     4 lookup {}",
        "      5 = said                        5 = said",
        "      6 agent: said                   6 agent: said",
        "      7 user: said                    7 user: said",
        ">>    8 escalate {}                   8 refund {}",
        ">>    9 = said                        9 = said",
        " >    —                              10 lookup {}",
        " >    —                              11 = said",
        "     10 agent: said                  12 agent: said",
        " >   11 1 changed file, a.txt        13 0 changed files",
    ]


def test_what_both_did_before_is_one_line() -> None:
    start = "user lookup lookup lookup "
    assert columns(trajectory_of(start + "a"), trajectory_of(start + "b"))[2] == "   … 6 earlier steps · Same tool path in both runs."


def test_what_both_did_on_the_message_that_led_to_the_split_is_one_line_too() -> None:
    start = "user lookup lookup lookup agent user agent user lookup lookup lookup "
    found = columns(trajectory_of(start + "escalate"), trajectory_of(start + "refund"))
    assert [line.strip() for line in found[2:8:4]] == [
        "… 7 earlier steps · Same tool path in both runs.",
        "… 6 earlier steps · Same tool path in both runs.",
    ]
    assert found[7].startswith(">>   18 escalate {}")


def test_calls_stand_on_one_line_whatever_was_said_beside_them() -> None:
    assert columns(trajectory_of("user agent agent escalate"), trajectory_of("user agent refund"))[2:5] == [
        "      2 agent: said",
        "      3 agent: said                   2 agent: said",
        ">>    4 escalate {}                   3 refund {}",
    ]


def test_no_line_is_wider_than_asked_for_whatever_the_script() -> None:
    texts = ("plain " * 40, "漢字" * 40, "e\u0301" * 80, "\u202e\x1b[31m" * 20, "a\nb\tc " * 20, "👍🏽" * 40)
    a = Trajectory(steps=tuple(MessageStep(role="user", text=text) for text in texts))
    for line in columns(a, a, width_chars=60):
        places = sum(0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)
        assert places <= 60
        assert line.isprintable()


def test_a_column_keeps_enough_to_read_on_the_narrowest_terminal() -> None:
    assert "user: said" in columns(trajectory_of("user"), trajectory_of("user"), width_chars=1)[1]
