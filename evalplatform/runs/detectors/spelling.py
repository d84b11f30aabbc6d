"""How numbers are spelt: the many blanks and dashes that stand between groups of digits, as one of each."""

_BLANKS = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{FIGURE SPACE}\N{THIN SPACE}\N{EN SPACE}\N{EM SPACE}\N{IDEOGRAPHIC SPACE}"
_DASHES = "\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
_PLAIN = str.maketrans(dict.fromkeys(_BLANKS, " ") | dict.fromkeys(_DASHES, "-"))


def plainly_spelt(text: str) -> str:
    """Return a text with a space for every blank that is no line break or tab, and a hyphen for every dash; its length stays."""
    return text if text.isascii() else text.translate(_PLAIN)
