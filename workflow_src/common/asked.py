"""A note at the end of a text of what it was made for, so that the file tells whose it is."""

import re
from contextlib import suppress
from pathlib import Path

NOTE = re.compile(r"\n<!-- asked: ([0-9a-f]+) -->\n\Z")


def noted(text: str, asked: str) -> str:
    """`text` with a note of what was asked; without one if that is empty."""
    return f"{text}\n<!-- asked: {asked} -->\n" if asked else text


def without_note(text: str) -> str:
    """`text` as it was before `noted`."""
    return NOTE.sub("", text)


def asked_of(path: Path) -> str:
    """What a file says it was made for; "" if it doesn't say, can't be read, or is a pipe."""
    with suppress(OSError):
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        return found[1] if (found := NOTE.search(text)) else ""
    return ""
