"""How a stage ends where something outside it is wrong: one sentence that says what to do."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class StageError(RuntimeError):
    """One sentence that names what is wrong and what to do about it."""


class TraceError(StageError):
    """A capture or export that can't be used, in a sentence that says what to do."""


ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EROFS: "make the folder writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
}


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
