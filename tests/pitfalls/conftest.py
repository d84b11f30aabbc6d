"""Worked texts that every store of text has to carry, as the contracts have them."""

from tests.contracts.conftest import awkward_texts

__all__ = ["awkward_texts"]
