"""US social security numbers: three, two and four digits in ranges that are issued, with dashes, or named as what they are."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors
from evalplatform.runs.detectors.spelling import plainly_spelt

# The Social Security Administration issues no area 000, 666 or 900 to 999, no group 00 and no serial 0000.
_AREA, _GROUP, _SERIAL = r"(?!000|666|9)\d{3}", r"(?!00)\d{2}", r"(?!0000)\d{4}"

# Three numbers with blanks between are as likely prices, and nine digits in a row an order number, so both need the name before them.
_WITH_DASHES = re.compile(rf"(?<!\d)(?<!\d-){_AREA}-{_GROUP}-{_SERIAL}(?!-?\d)", re.ASCII)
_NAMED = re.compile(
    rf"(?:(?<![a-z])ssn(?![a-z])|social[ _-]?security)[^\d]{{0,40}}(?<!\d){_AREA}([ -]?){_GROUP}\1{_SERIAL}(?!-?\d)",
    re.ASCII | re.IGNORECASE,
)


def _found_in(text: str) -> bool:
    spelt = plainly_spelt(text)
    return _WITH_DASHES.search(spelt) is not None or _NAMED.search(spelt) is not None


detectors.register("social_security_number")(
    Detector("A US social security number in a range that is issued, with dashes or with its name before it.", _found_in)
)
