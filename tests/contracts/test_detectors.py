"""What every detector holds to, run over the registry: a new one inherits all of it with one entry in `EXAMPLES`."""

from typing import NamedTuple

import pytest

from evalplatform.runs.detectors.detector import detectors
from evalplatform.runs.detectors.kinds.iban import has_iban_check_digits
from evalplatform.runs.detectors.kinds.payment_card import has_luhn_check_digit


class Examples(NamedTuple):
    found: tuple[str, ...]
    not_found: tuple[str, ...]


# Numbers are those that authorities and networks publish for tests and examples; tokens are made up of their prefix and filling.
FILLING = "Zz9" * 20
EXAMPLES = {
    "email_address": Examples(
        ("ann@example.com", "<ann.lee+x@mail.example.co.uk>", "a@b.io", "mail ann@example.com.", "é ann@exa-mple.org!"),
        ("ann at example.com", "@handle", "ann@localhost", "a@b", "x@1.2", "user@@example", "price@ 3.50", ""),
    ),
    "iban": Examples(
        (
            "GB82 WEST 1234 5698 7654 32",
            "DE89370400440532013000",
            "pay to FR1420041010050500013M02606.",
            "NO9386011117947 today",
            "DE89 3704 0044 0532 0130 00 BIC COBADEFF",
            "MT84MALT011000012345MTLCAST001S",
        ),
        (
            "GB82 WEST 1234 5698 7654 33",
            "DE89370400440532013001",
            "DE8937040044053201300",
            "ORDER AB12 3456",
            "XDE89370400440532013000",
            "",
        ),
    ),
    "payment_card": Examples(
        ("4111 1111 1111 1111", "4111-1111-1111-1111", "5555555555554444", "amex 378282246310005.", "6011111111111117", "30569309025904"),
        (
            "4111 1111 1111 1112",
            "1234567812345678",
            "4111",
            "order 41111111111111119999999",
            "0000 0000 0000 0000",
            "411111111111.1111",
            "",
        ),
    ),
    "phone_number": Examples(
        ("+44 20 7946 0958", "call +1-202-555-0143", "(202) 555-0143", "202.555.0143", "+4930901820", "1-202-555-0143"),
        ("2025550143", "+1234", "1 + 2 = 3", "102-555-0143", "2024-11-30", "order 202-555-01433", "3.14159265", ""),
    ),
    "secret_key": Examples(
        (
            "AKIAIOSFODNN7EXAMPLE",
            f"ghp_{FILLING[:36]}",
            f"use sk-proj-{FILLING[:24]}",
            f"sk-{FILLING[:24]}",
            f"xoxb-{FILLING[:12]}",
            f"glpat-{FILLING[:20]}",
            f"AIza{FILLING[:35]}",
            f"eyJhbGciOiJIUzI1NiJ9.eyJ{FILLING[:12]}.x",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----",
        ),
        ("sk-short", "task-force-of-many-people-here", "AKIA", "ghp_short", "-----BEGIN PUBLIC KEY-----", "eyJhbGciOiJIUzI1NiJ9", ""),
    ),
    "social_security_number": Examples(
        ("078-05-1120", "SSN: 219-09-9999.", "219 09 9999"),
        (
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "123-00-4567",
            "123-45-0000",
            "219099999",
            "219-09 9999",
            "1219-09-9999",
            "",
            "12-345-6789",
        ),
    ),
}


def test_every_detector_has_examples() -> None:
    assert sorted(EXAMPLES) == detectors.names()


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, examples in EXAMPLES.items() for text in examples.found])
def test_it_finds_what_is_one(name: str, text: str) -> None:
    assert detectors.get(name).found_in(text)
    assert detectors.get(name).found_in(f"Thank you: {text}\nBye.")


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, examples in EXAMPLES.items() for text in examples.not_found])
def test_it_leaves_alone_what_is_none(name: str, text: str) -> None:
    assert not detectors.get(name).found_in(text)


@pytest.mark.parametrize("name", detectors.names())
def test_it_says_what_it_finds(name: str) -> None:
    assert detectors.get(name).description.endswith(".")


def test_one_wrong_digit_is_always_noticed_in_a_card_and_in_an_account() -> None:
    for number, is_right in (("4111111111111111", has_luhn_check_digit), ("DE89370400440532013000", has_iban_check_digits)):
        assert is_right(number)
        for place in range(4, len(number)):
            others = (f"{number[:place]}{digit}{number[place + 1 :]}" for digit in "0123456789" if digit != number[place])
            assert not any(map(is_right, others))
