"""A note at the end of a text of what it was made for, so that the file tells whose it is."""

import os
import re
from contextlib import suppress
from pathlib import Path

NOTE = re.compile(r"\n<!-- asked: ([0-9a-f]+) -->\n\Z")

LENGTH = 100
"""More bytes than a note has."""


def noted(text: str, asked: str) -> str:
    """`text` with a note of what was asked; without one if that is empty."""
    return f"{text}\n<!-- asked: {asked} -->\n" if asked else text


def without_note(text: str) -> str:
    """`text` as it was before `noted`."""
    return NOTE.sub("", text)


def asked_of(path: Path) -> str:
    """What a file says it was made for; "" if it doesn't say, can't be read, or is a pipe."""
    if not path.is_file():
        return ""
    with suppress(OSError), path.open("rb") as file:
        file.seek(-min(LENGTH, path.stat().st_size), os.SEEK_END)
        found = NOTE.search(file.read().decode(errors="replace"))
        return found[1] if found else ""
    return ""
