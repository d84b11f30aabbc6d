"""Phone numbers: international ones with a plus, and North American ones in their usual writing."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors
from evalplatform.runs.detectors.spelling import plainly_spelt

# E.164 allows 15 digits; fewer than 8 after a plus are as likely a difference in points.
_INTERNATIONAL = re.compile(r"(?<![\w+])\+[1-9](?:[ .()-]{0,2}\d){7,14}(?!\w|-\d)", re.ASCII)
# Area and exchange start with 2 to 9 in the North American plan; ten bare digits are as likely an order number.
_NORTH_AMERICAN = re.compile(
    r"(?<![\w+(])(?<!\d[.-])(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?!\w|-\d)", re.ASCII
)


def _found_in(text: str) -> bool:
    spelt = plainly_spelt(text)
    return _INTERNATIONAL.search(spelt) is not None or _NORTH_AMERICAN.search(spelt) is not None


detectors.register("phone_number")(Detector("A phone number, international with a plus or North American with separators.", _found_in))
