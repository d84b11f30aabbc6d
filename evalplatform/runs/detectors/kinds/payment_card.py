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
    (r"4", {13, 16, 19}),  # Visa
    (r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", {16}),  # Mastercard
    (r"3[47]", {15}),  # American Express
    (r"30[0-5]|3095|3[689]", {14}),  # Diners Club
    (r"352[89]|35[3-8]|220[0-4]|81", {16, 17, 18, 19}),  # JCB, Mir, UnionPay
    (r"50|5[6-8]|6", set(range(_MIN_DIGITS, _MAX_DIGITS + 1))),  # Maestro, Discover, UnionPay
)
_FIRST_DIGITS = {
    length: re.compile("|".join(first for first, lengths in _NETWORKS if length in lengths))
    for length in range(_MIN_DIGITS, _MAX_DIGITS + 1)
}
_DOUBLED = str.maketrans("0123456789", "0246813579")
"""Twice a digit, the two digits of a larger one added up."""


def has_luhn_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, by Luhn's formula (ISO/IEC 7812-1, annex B)."""
    return sum(map(int, digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


def _found_in(text: str) -> bool:
    return any(
        _FIRST_DIGITS[len(digits)].match(digits) and has_luhn_check_digit(digits)
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


detectors.register("payment_card")(Detector("A payment card number whose check digit is right.", _found_in))
