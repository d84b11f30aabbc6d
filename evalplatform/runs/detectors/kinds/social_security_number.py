"""US social security numbers: three, two and four digits with one separator, in ranges that are issued."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors

# The Social Security Administration issues no area 000, 666 or 900 to 999, no group 00 and no serial 0000. Nine bare digits are as likely
# an order number, so the separators are required.
_NUMBER = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\d-])", re.ASCII)


def _found_in(text: str) -> bool:
    return _NUMBER.search(text) is not None


detectors.register("social_security_number")(
    Detector("A US social security number, written with separators, in a range that is issued.", _found_in)
)
