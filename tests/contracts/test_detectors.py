"""What every detector holds to, run over the registry: a new one inherits all of it with one entry in `EXAMPLES`."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (
            "ann@example.com",
            "<ann.lee+x@mail.example.co.uk>",
            "a@b.io",
            "mail ann@example.com.",
            "é ann@exa-mple.org!",
            "...ann@example.com",
            "josé@exämple.de",
        ),
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
            "de89370400440532013000",
            "DE89-3704-0044-0532-0130-00",
            "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000",
            "KW81 CBKU 0000 0000 0000 1234 5601 01 BIC ABC",
            "no93 8601 1117 947 to be paid",
        ),
        (
            "GB82 WEST 1234 5698 7654 33",
            "DE89370400440532013001",
            "DE8937040044053201300",
            "ORDER AB12 3456",
            "XDE89370400440532013000",
            "DE8937040044053201300012",
            "ZZ82WEST12345698765432",
            "",
        ),
    ),
    "payment_card": Examples(
        (
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "5555555555554444",
            "amex 378282246310005.",
            "6011111111111117",
            "30569309025904",
            "4111 1111 1111 1111 12/26",
            "4111111111111111 123",
            "4111111111111111 12/26",
            "4111-1111-1111-1111 12 26 123",
            "id 2024 4111 1111 1111 1111",
            "order-20-4111111111111111",
            "4111\u00a01111\u00a01111\u00a01111",
            "4111\u20111111\u20111111\u20111111",
            "1,4111111111111111,12",
            "3530111333300000",
            "2223003122003222",
        ),
        (
            "4111 1111 1111 1112",
            "1234567812345678",
            "4111",
            "order 41111111111111119999999",
            "0000 0000 0000 0000",
            "411111111111.1111",
            "0.4111111111111111",
            "4111111111111111.5",
            "2000 0000 0000 0006",
            "37 4111 1111 1111 1112",
            "",
        ),
    ),
    "phone_number": Examples(
        (
            "+44 20 7946 0958",
            "call +1-202-555-0143",
            "(202) 555-0143",
            "202.555.0143",
            "+4930901820",
            "1-202-555-0143",
            "202\u2011555\u20110143",
            "+1\u00a0202\u00a0555\u00a00143",
            "tel-202-555-0143-",
            "+1 202 555 0143-",
        ),
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
            f"npm_{FILLING[:36]}",
            f"hf_{FILLING[:34]}",
            f"sk_test_{FILLING[:24]}",
            f"rk_live_{FILLING[:24]}",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----",
        ),
        ("sk-short", "task-force-of-many-people-here", "AKIA", "ghp_short", "-----BEGIN PUBLIC KEY-----", "eyJhbGciOiJIUzI1NiJ9", ""),
    ),
    "social_security_number": Examples(
        (
            "078-05-1120",
            "SSN: 219-09-9999.",
            "SSN 219 09 9999",
            "ssn=219099999",
            '{"customer_ssn": "219099999"}',
            "219-09-9999-",
            "Social Security number is 219 09 9999",
            "219\u201109\u20119999",
            "SSN\u00a0219\u00a009\u00a09999",
            "ssn-219-09-9999",
        ),
        (
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "123-00-4567",
            "123-45-0000",
            "219099999",
            "219 09 9999",
            "prices: 120 15 2000",
            "lessn 219099999",
            "219-09-9999-1",
            "1-219-09-9999",
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


BESIDE = st.lists(st.from_regex(r"[0-9]{1,12}", fullmatch=True), max_size=4)


@given(BESIDE, st.sampled_from(["4111 1111 1111 1111", "378282246310005", "5555-5555-5555-4444"]), BESIDE)
def test_a_card_is_found_whatever_groups_of_digits_stand_beside_it(before: list[str], card: str, after: list[str]) -> None:
    assert detectors.get("payment_card").found_in(" ".join([*before, card, *after]))
