"""Command-line arguments: one that a stage can't use ends it, with one sentence, before it starts.

The functions are values of `type` for argparse's `add_argument`; each takes an argument's text.
"""

import argparse
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from workflow_src.common.printable import printable


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, printable(" ".join(message.removeprefix("argument ").split())) + "\n")


def existing_file(text: str) -> Path:
    """The path of a file to read."""
    if os.path.isdir(text) or not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return Path(text)


def existing_folder(text: str) -> Path:
    """The path of a folder to read from."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text)


def new_file(text: str) -> Path:
    """The path of a file to write, which may exist."""
    if not text or os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text!r} is a folder; give a file to write")
    return Path(text)


def new_folder(text: str) -> Path:
    """The path of a folder to write into, which may exist."""
    if not text or (os.path.exists(text) and not os.path.isdir(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder; give one to write into")
    return Path(text)


def pattern(text: str) -> str:
    """A regular expression. Raises ArgumentTypeError for another text."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        said = f"{text[:50]!r} is no regular expression: {error}"
        raise argparse.ArgumentTypeError(said) from None
    return text


def positive(text: str) -> float:
    """A finite number above zero."""
    return _number(text, at_most=sys.float_info.max, allowed="a finite number above 0")


def share(text: str) -> float:
    """A share above zero, at most one."""
    return _number(text, at_most=1.0, allowed="above 0 and at most 1")


def _number(text: str, at_most: float, allowed: str) -> float:
    with suppress(ValueError):
        if 0.0 < (value := float(text)) <= at_most:
            return value
    raise argparse.ArgumentTypeError(f"must be {allowed}, not {text!r}")


def stage_arguments(about: str | None, **kinds: Any) -> argparse.Namespace:
    """The arguments of a stage, all required: by name their type, or several in a list.

    One that is False is a flag.
    """
    parser = Parser(description=about)
    for name, kind in kinds.items():
        several = {"nargs": "+"} if isinstance(kind, list) else {}
        typed = {"type": kind[0] if several else kind, "required": True, **several}
        how: dict[str, Any] = {"action": "store_true"} if kind is False else typed
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser.parse_args()
