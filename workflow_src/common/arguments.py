"""Command-line arguments: one that a stage can't use ends it, with one sentence, before it starts.

The functions are values of `type` for argparse's `add_argument`.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from workflow_src.common.printable import printable


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, printable(" ".join(message.removeprefix("argument ").split())) + "\n")


def _path(text: str, fits: Callable[[str], object], otherwise: str) -> Path:
    if not fits(text):
        raise argparse.ArgumentTypeError(otherwise.format(text))
    return Path(text)


def _is_file(text: str) -> bool:
    return os.path.exists(text) and not os.path.isdir(text)


existing_file = partial(_path, fits=_is_file, otherwise="there is no file {!r}")
existing_folder = partial(_path, fits=os.path.isdir, otherwise="there is no folder {!r}")
new_file = partial(
    _path,
    fits=lambda text: text and not os.path.isdir(text),
    otherwise="{!r} is a folder; give a file to write",
)
new_folder = partial(
    _path,
    fits=lambda text: text and not _is_file(text),
    otherwise="{!r} is not a folder; give one to write into",
)
"""The path of a file or a folder to read, and of one to write, which may exist."""


def pattern(text: str) -> str:
    """A regular expression. Raises ArgumentTypeError if it isn't one."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        said = f"{text[:50]!r} is no regular expression: {error}"
        raise argparse.ArgumentTypeError(said) from None
    return text


def _number(text: str, at_most: float, allowed: str) -> float:
    with suppress(ValueError):
        if 0.0 < (value := float(text)) <= at_most:
            return value
    raise argparse.ArgumentTypeError(f"must be {allowed}, not {text!r}")


positive = partial(_number, at_most=sys.float_info.max, allowed="a finite number above 0")
share = partial(_number, at_most=1.0, allowed="above 0 and at most 1")


def stage_arguments(about: str | None, **kinds: Any) -> argparse.Namespace:
    """The arguments of a stage, all required: by name their type, or several in a list.

    One that is False is a flag; in a tuple are several or none.
    """
    parser = Parser(description=about)
    for name, kind in kinds.items():
        many = isinstance(kind, list | tuple)
        several = {"nargs": "+" if isinstance(kind, list) else "*"} if many else {}
        typed = {"type": kind[0] if several else kind, "required": True, **several}
        how: dict[str, Any] = {"action": "store_true"} if kind is False else typed
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser.parse_args()
