"""Command-line arguments: one that a stage can't use ends it, with one sentence, before it starts.

The functions are values of `type` for argparse's `add_argument`; each takes an argument's text.
"""

import argparse
import json
import math
import os
import re
from pathlib import Path
from typing import NoReturn

from workflow_src.common.printable import printable


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, printable(" ".join(message.removeprefix("argument ").split())) + "\n")


def existing_file(text: str) -> Path:
    """The path of a file to read."""
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a file")
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return Path(text)


def any_path(text: str) -> Path:
    """The path of a file or folder whose reader says what is wrong with it."""
    if not text:
        raise argparse.ArgumentTypeError("'' is no path")
    return Path(text)


def existing_folder(text: str) -> Path:
    """The path of a folder to read from."""
    if not os.path.isdir(text):
        found = "is not a folder" if os.path.exists(text) else "does not exist"
        raise argparse.ArgumentTypeError(f"{text!r} {found}; give an existing folder")
    return Path(text)


def pattern(text: str) -> str:
    """A regular expression. Raises ArgumentTypeError for another text."""
    if problem := pattern_problem(text):
        raise argparse.ArgumentTypeError(f"{text[:50]!r} {problem}")
    return text


def pattern_problem(text: str) -> str:
    """Why a text is no regular expression; "" if it is one."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression: {error}"
    return ""


def new_file(text: str) -> Path:
    """The path of a file to write, which may exist."""
    if not text or os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text!r} is a folder; give a file to write")
    return _below_a_folder(text)


def new_folder(text: str) -> Path:
    """The path of a folder to write into, which may exist."""
    if not text or (os.path.exists(text) and not os.path.isdir(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder; give one to write into")
    return _below_a_folder(text)


def _below_a_folder(text: str) -> Path:
    for parent in Path(text).parents:
        if os.path.exists(parent) and not os.path.isdir(parent):
            raise argparse.ArgumentTypeError(
                f"{text!r} can't be written: {str(parent)!r} is a file, not a folder"
            )
    return Path(text)


def positive(text: str) -> float:
    """A finite number above zero."""
    return _number(text, above=0.0, at_most=math.inf, allowed="a finite number above 0")


def share(text: str) -> float:
    """A share above zero, at most one."""
    return _number(text, above=0.0, at_most=1.0, allowed="above 0 and at most 1")


def _number(text: str, above: float, at_most: float, allowed: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (above < value <= at_most and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must be {allowed}, not {text!r}")
    return value


def add_plan_row(parser: Parser) -> None:
    """Add --case to a parser: a plan row, which a rule or a stage wrote."""
    parser.add_argument("--case", type=json.loads, required=True, help="a plan row as JSON")
