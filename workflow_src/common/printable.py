"""Text from elsewhere, such as names in captures, as it may be shown on a terminal or a page."""

import re

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What isn't shown but obeyed: control characters, separators of lines, marks that turn the
direction of writing; and halves of characters, which can't be encoded."""


def printable(text: object) -> str:
    r"""One line of text that shows what it is made of: a control character is written as \x1b."""
    return HIDDEN.sub(lambda hidden: hidden[0].encode("unicode_escape").decode(), str(text))
