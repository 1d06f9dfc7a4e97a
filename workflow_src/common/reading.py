"""Reading files that may be damaged: exceptions become one sentence."""

import csv
import gzip
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workflow_src.common.errors import StageError

DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    EOFError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
    csv.Error,
    re.error,
    gzip.BadGzipFile,
    zlib.error,
    sqlite3.Error,
)
"""Raised by a file that is missing or has invalid content, whatever its format."""


@contextmanager
def reading(path: Path, expected: str, advice: str, error_type: type[StageError]) -> Iterator[None]:
    """Turn what a missing or damaged `path` raises into an `error_type`."""
    try:
        yield
    except DAMAGED as error:
        said = getattr(error, "strerror", None) or str(error)
        reason = " ".join(said.split()) or type(error).__name__
        raise error_type(f"{path} is not {expected} ({reason[:200]}); {advice}") from error
