"""Atomic file writes: write beside the target, then rename."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a temporary file, then rename it: `path` is whole, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    except OSError as error:
        if error.errno and not error.filename:
            error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Yield a fresh hidden folder beside `target` to build it in; removed afterwards."""
    folder = target.with_name(f".{target.name}.partial")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON, lists of numbers on one line each. NaN is refused (ValueError)."""

    def on_one_line(numbers: re.Match[str]) -> str:
        return "[" + " ".join(numbers[0].strip("[]").split()) + "]"

    text = json.dumps(value, indent=1, allow_nan=False)
    write_text(path, re.sub(r"\[\n[\s\d.,eE+-]+\]", on_one_line, text) + "\n")


_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20](?!$|\d*\.?\d+(?:[eE][+-]?\d+)?$)")
"""The beginning, also in full width, of a text that a spreadsheet computes and is no number."""


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    """Write `table` as CSV without its index.

    Texts that a spreadsheet would take for formulas get an apostrophe before them, as OWASP's page
    on CSV injection says.
    """

    def computes(cell: object) -> bool:
        return isinstance(cell, str) and _FORMULA.match(cell) is not None

    safe = {
        str(name): [f"'{cell}" if computes(cell) else cell for cell in column]
        for name, column in table.items()
        if column.dtype.kind not in "biufcmM" and any(map(computes, column.unique()))
    }
    whole = table.assign(**safe)
    write_whole(path, lambda partial: whole.to_csv(partial, index=False, lineterminator="\n"))
