"""Where the view of two runs opens, and what it folds away."""

from evalplatform.runs.folding import DiffView, Fold, diff_view
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.trajectories import trajectory_of


def view(a: str, b: str) -> DiffView:
    one, other = trajectory_of(a), trajectory_of(b)
    return diff_view(one, other, diff_trajectories(one, other))


def test_the_steps_between_the_opening_message_and_the_split_are_folded() -> None:
    found = view("system user lookup lookup lookup refund", "system user lookup lookup lookup escalate")
    assert found.split_row == 5
    assert found.folds == (Fold(first_row=2, after_row=5, steps_a=6, steps_b=6, user_messages=0),)


def test_the_last_exchange_before_the_split_stays_open() -> None:
    start = "user agent user lookup agent user agent user agent user "
    found = view(start + "refund", start + "escalate")
    assert found.split_row == 10
    # Row 7 is the user's message before, 8 the reply to it, 9 the message that led to the split.
    assert found.folds == (Fold(first_row=1, after_row=7, steps_a=7, steps_b=7, user_messages=2),)


def test_what_the_agent_did_between_the_opening_message_and_its_reply_is_folded() -> None:
    start = "user lookup lookup lookup agent user "
    assert view(start + "refund", start + "escalate").folds == (Fold(first_row=1, after_row=4, steps_a=6, steps_b=6, user_messages=0),)


def test_an_exchange_without_a_reply_begins_at_the_message_that_led_to_the_split() -> None:
    start = "user lookup lookup lookup user "
    assert view(start + "refund", start + "escalate").folds == (Fold(first_row=1, after_row=4, steps_a=6, steps_b=6, user_messages=0),)


def test_what_was_done_on_the_message_that_led_to_the_split_is_folded_too() -> None:
    start = "user agent user " + "lookup " * 60
    found = view(start + "refund", start + "escalate")
    assert (found.split_row, len(found.rows)) == (63, 64)
    # Open stay the opening exchange, the message that led to the split, and the split right under the fold.
    assert found.folds == (Fold(first_row=3, after_row=63, steps_a=120, steps_b=120, user_messages=0),)


def test_a_long_conversation_is_folded_before_its_last_exchange_and_after_the_message_that_led_to_the_split() -> None:
    start = "user lookup lookup lookup agent user agent user lookup lookup lookup lookup "
    found = view(start + "refund", start + "escalate")
    # Row 5 is the user's message before, 6 the reply to it, 7 the message that led to the split.
    assert found.folds == (Fold(1, 5, 7, 7, 0), Fold(8, 12, 8, 8, 0))


def test_what_the_agent_replied_at_once_to_the_message_that_led_to_the_split_stays_open() -> None:
    start = "user agent user agent system lookup lookup "
    assert view(start + "refund", start + "escalate").folds == (Fold(first_row=4, after_row=7, steps_a=5, steps_b=5, user_messages=0),)


def test_runs_that_part_in_their_files_alone_are_folded_up_to_them() -> None:
    start = "user agent user lookup lookup lookup agent "
    assert view(start + "files:a.txt", start + "files:b.txt").folds == (Fold(3, 7, 7, 7, 0),)


def test_fewer_than_three_rows_are_not_folded() -> None:
    assert view("user lookup lookup refund", "user lookup lookup escalate").folds == ()
    assert view("user lookup lookup lookup refund", "user lookup lookup lookup escalate").folds != ()
    assert view("user agent user lookup lookup refund", "user agent user lookup lookup escalate").folds == ()
    assert view("user agent user lookup lookup lookup refund", "user agent user lookup lookup lookup escalate").folds != ()


def test_nothing_is_folded_where_the_runs_do_not_part() -> None:
    found = view("user lookup lookup lookup lookup agent", "user lookup lookup lookup lookup agent")
    assert (found.split_row, found.folds) == (None, ())


def test_each_column_counts_its_own_steps() -> None:
    found = view("user agent lookup lookup lookup refund", "user lookup lookup lookup escalate")
    assert found.folds == (Fold(first_row=1, after_row=4, steps_a=7, steps_b=6, user_messages=0),)


def test_steps_before_the_first_user_message_stay_and_without_one_the_fold_begins_at_the_top() -> None:
    assert view("lookup lookup lookup refund", "lookup lookup lookup escalate").folds == (Fold(0, 3, 6, 6, 0),)


def test_the_last_row_holds_the_file_changes_of_both_runs() -> None:
    found = view("user lookup files:a.txt", "user lookup agent user files:b.txt")
    assert (found.rows[-1].a, found.rows[-1].b, found.rows[-1].change) == ((4,), (6,), 2)


def test_runs_that_part_in_their_files_alone_open_there() -> None:
    found = view("user lookup lookup lookup files:a.txt", "user lookup lookup lookup files:b.txt")
    assert (found.split_row, found.folds) == (4, (Fold(1, 4, 6, 6, 0),))


def test_a_file_change_without_a_counterpart_is_a_row_and_no_split() -> None:
    found = view("user files:a.txt", "user")
    assert (found.rows[-1].a, found.rows[-1].b, found.rows[-1].change, found.split_row) == ((2,), (), None, None)


def test_a_message_beside_a_call_is_in_the_calls_row() -> None:
    found = view("user agent refund", "user escalate")
    assert (found.rows[1].a, found.rows[1].beside_a, found.rows[1].diverges) == ((2, 3, 4), (2,), True)
