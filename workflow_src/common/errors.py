"""How a stage ends where something outside it is wrong: in one sentence that says what to do."""

import errno
import gzip
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pandas.errors import DatabaseError


class StageError(RuntimeError):
    """One sentence that names what is wrong and what to do about it."""


DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    sqlite3.Error,
    DatabaseError,
)
"""What reading a file raises where its content is not what it should be, whatever its format."""

ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EROFS: "make the folder writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
}


@contextmanager
def reading(path: Path, expected: str, advice: str, error_type: type[StageError]) -> Iterator[None]:
    """Turn what a damaged `path` raises into an `error_type` with one sentence."""
    try:
        yield
    except DAMAGED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise error_type(f"{path} is not {expected} ({reason[:200]}); {advice}") from error


@contextmanager
def one_sentence(about: str = "") -> Iterator[None]:
    """End the program with one sentence for a StageError, a full disk or a closed folder.

    `about` names what was being worked on, for errors that don't know it themselves. Any other
    exception passes: it is a fault of the code, and its traceback is wanted.
    """
    try:
        yield
    except StageError as error:
        sys.exit(f"{about}: {error}" if about else str(error))
    except OSError as error:
        if error.errno not in ADVICE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(
            f"{where}{os.strerror(error.errno)}; {ADVICE[error.errno]} and run again, "
            "what is whole is kept"
        )
