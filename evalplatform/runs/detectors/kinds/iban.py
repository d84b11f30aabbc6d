"""International bank account numbers: a country, two check digits, and the account, whose remainder by 97 is 1 (ISO 13616)."""

import re
from functools import cache

from evalplatform.runs.detectors.detector import Detector, detectors
from evalplatform.runs.detectors.spelling import plainly_spelt

_BEGINNING = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d{2}", re.ASCII)

# The lengths of the IBAN registry: only by them it is known where a number ends and the next word begins.
_COUNTRIES_BY_CHARS = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_CHARS_BY_COUNTRY = {country: chars for chars, countries in _COUNTRIES_BY_CHARS.items() for country in countries.split()}


def has_iban_check_digits(iban: str) -> bool:
    """Return whether the number, in capitals and without separators, is right: its country's length, and the remainder by 97."""
    if len(iban) != _CHARS_BY_COUNTRY.get(iban[:2]):
        return False
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1


def _found_in(text: str) -> bool:
    capitals = plainly_spelt(text).upper()
    return any(_is_iban_at(capitals, match.start()) for match in _BEGINNING.finditer(capitals))


def _is_iban_at(capitals: str, start: int) -> bool:
    chars = _CHARS_BY_COUNTRY.get(capitals[start : start + 2])
    written = None if chars is None else _of_length(chars).match(capitals, start)
    return written is not None and has_iban_check_digits(re.sub("[ -]", "", written.group()))


@cache
def _of_length(chars: int) -> re.Pattern[str]:
    """Return the pattern of a number of so many letters and digits, of which none follows."""
    return re.compile(rf"[A-Z]{{2}}\d{{2}}(?:[ -]?[A-Z0-9]){{{chars - 4}}}(?![A-Z0-9])", re.ASCII)


detectors.register("iban")(Detector("An international bank account number whose check digits are right.", _found_in))
