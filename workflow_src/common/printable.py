"""Text from elsewhere, such as names in captures, as a terminal or a page may show it."""

TURNING = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
SHOWN = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: chr(0x2421),
    **{code: f"<U+{code:04X}>" for code in (*range(0x80, 0xA0), *TURNING)},
}
"""For control characters and those that change the direction of text: their pictures, as U+241B for
an escape character, or their code points."""


def printable(text: object) -> str:
    """A name as text that can be written as UTF-8 and that shows as one line."""
    raw = text if isinstance(text, bytes) else str(text).encode("utf-8", "backslashreplace")
    name = raw.decode("utf-8", "backslashreplace")
    return name if name.isprintable() else name.translate(SHOWN)
