"""Payment card numbers: 13 to 19 digits of a known network, in one run or in groups, whose check digit is right."""

import re
from collections.abc import Iterator

from evalplatform.runs.detectors.detector import Detector, detectors
from evalplatform.runs.detectors.spelling import plainly_spelt

# Groups of digits, one separator between them. Digits around a decimal point are an amount and no group.
_GROUPS = re.compile(r"(?<!\d)(?<!\d\.)\d+(?:[ -]\d+)*(?!\d)(?!\.\d)", re.ASCII)
_SEPARATORS = re.compile(r"[ -]")
_MIN_DIGITS, _MAX_DIGITS = 13, 19

# First digits (ISO/IEC 7812) and lengths that the networks issue.
_NETWORKS = (
    (re.compile(r"4"), {13, 16, 19}),  # Visa
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),  # Mastercard
    (re.compile(r"3[47]"), {15}),  # American Express
    (re.compile(r"30[0-5]|3095|3[689]"), {14}),  # Diners Club
    (re.compile(r"352[89]|35[3-8]|220[0-4]|81"), {16, 17, 18, 19}),  # JCB, Mir, UnionPay
    (re.compile(r"50|5[6-8]|6"), set(range(_MIN_DIGITS, _MAX_DIGITS + 1))),  # Maestro, Discover, UnionPay
)


def has_luhn_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, by Luhn's formula (ISO/IEC 7812-1, annex B)."""
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(number - 9 if number > 9 else number for number in doubled)) % 10 == 0


def _found_in(text: str) -> bool:
    return any(
        _is_of_a_network(digits) and has_luhn_check_digit(digits)
        for run in _GROUPS.finditer(plainly_spelt(text))
        for digits in _windows(_SEPARATORS.split(run.group()))
    )


def _windows(groups: list[str]) -> Iterator[str]:
    """Iterate over the digits of all whole groups in a row that have a card's length: an expiry date or a code may stand beside it."""
    for start in range(len(groups)):
        digits = ""
        for group in groups[start : start + _MAX_DIGITS]:
            digits += group
            if len(digits) > _MAX_DIGITS:
                break
            if len(digits) >= _MIN_DIGITS:
                yield digits


def _is_of_a_network(digits: str) -> bool:
    return any(len(digits) in lengths and first.match(digits) for first, lengths in _NETWORKS)


detectors.register("payment_card")(Detector("A payment card number whose check digit is right.", _found_in))
