"""E-mail addresses: a local part, `@`, and a domain with a top level of letters."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors

# Lengths are those of RFC 5321 (64 and 63), which also bound the work at each character.
_ADDRESS = re.compile(r"(?<![\w+%-])[\w+%-][\w.+%-]{0,63}@(?:[^\W_](?:[^\W_]|-){0,62}\.){1,8}[^\W\d_]{2,24}(?![\w-])")


def _found_in(text: str) -> bool:
    return "@" in text and _ADDRESS.search(text) is not None


detectors.register("email_address")(Detector("An e-mail address.", _found_in))
