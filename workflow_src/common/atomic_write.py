"""Files appear whole or not at all: write beside the target, then rename."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it into place at once.

    A killed writer leaves at most a `.partial` file, never a short `path`.
    """
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
    """A fresh hidden folder beside `target` to make it in; gone afterwards, whatever happened.

    What a killed run of the same job left there goes first.
    """
    folder = target.with_name(f".{target.name}.partial")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`, whole."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON to `path`, whole. NaN is refused (ValueError)."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    """Write `table` as CSV without its index to `path`, whole."""
    write_whole(path, lambda partial: table.to_csv(partial, index=False, lineterminator="\n"))
