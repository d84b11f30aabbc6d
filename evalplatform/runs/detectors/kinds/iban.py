"""International bank account numbers: a country, two check digits, and the account, whose remainder by 97 is 1 (ISO 13616)."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])", re.ASCII)

# The lengths of the IBAN registry's most used countries: words of capitals after a number would else be read on into it.
_CHARS_BY_COUNTRY = {
    "AE": 23,
    "AT": 20,
    "BE": 16,
    "BG": 22,
    "BR": 29,
    "CH": 21,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DK": 18,
    "EE": 20,
    "ES": 24,
    "FI": 18,
    "FR": 27,
    "GB": 22,
    "GR": 27,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IS": 26,
    "IT": 27,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "MC": 27,
    "MT": 31,
    "NL": 18,
    "NO": 15,
    "PL": 28,
    "PT": 25,
    "RO": 24,
    "RS": 22,
    "SA": 24,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "TR": 26,
}


def has_iban_check_digits(iban: str) -> bool:
    """Return whether the number without spaces is right: the country's length, where that is known, and the remainder by 97."""
    if len(iban) != _CHARS_BY_COUNTRY.get(iban[:2], len(iban)):
        return False
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1


def _found_in(text: str) -> bool:
    return any(_is_iban(match.group()) for match in _IBAN.finditer(text))


def _is_iban(found: str) -> bool:
    iban = found.replace(" ", "")
    return has_iban_check_digits(iban[: _CHARS_BY_COUNTRY.get(iban[:2], len(iban))])


detectors.register("iban")(Detector("An international bank account number whose check digits are right.", _found_in))
