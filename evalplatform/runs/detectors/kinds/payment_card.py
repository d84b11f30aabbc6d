"""Payment card numbers: 13 to 19 digits of a known network, in one run or in groups, whose check digit is right."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors

# First digits by ISO/IEC 7812: 2 and 5 Mastercard, 3 American Express, Diners, JCB, 4 Visa, 6 Discover, UnionPay, Maestro.
_DIGITS = re.compile(r"(?<![\d.-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\d-]|\.\d)", re.ASCII)
_SEPARATORS = re.compile(r"[ -]")


def has_luhn_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, by Luhn's formula (ISO/IEC 7812-1, annex B)."""
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(number - 9 if number > 9 else number for number in doubled)) % 10 == 0


def _found_in(text: str) -> bool:
    return any(has_luhn_check_digit(_SEPARATORS.sub("", match.group())) for match in _DIGITS.finditer(text))


detectors.register("payment_card")(Detector("A payment card number whose check digit is right.", _found_in))
