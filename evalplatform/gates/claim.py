"""What a gate claims of itself, in number and words, and what that does not cover. Certificates state it, and are refused with other words.

These are constants alone, so that what makes a certificate and what verifies it can share them without sharing code.
"""

from fractions import Fraction

BOUND = Fraction(1, 20)
COVERED = "a gate without critical scenarios in which nothing changed fails at most 1 time in 20, however many scenarios it has"
NOT_COVERED = (
    "each critical scenario that is not perfectly reliable adds to it, since any drop fails it",
    "flips of a single run a side, or of replays",
    "unverified scenarios: too few graded runs, or an unreadable history",
    "a history that was cut where its own results changed: which runs are kept depends on their outcomes",
    "harness errors that depend on the outcome, and, for the suite test, scenarios that depend on each other",
)
RELATIVE_ERROR = 1e-9
"""Of a suite's p-value that is no fraction."""
EXACT_UP_TO_RUNS = 600
"""The suite's p-value is a fraction up to so many graded runs in it: its digits grow with all of them together."""
