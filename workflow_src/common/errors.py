"""Errors that a stage reports in one sentence, which says what to do."""

import difflib
import errno
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from workflow_src.common.printable import printable

M = TypeVar("M")


class StageError(RuntimeError):
    """A sentence on what is wrong and what to do about it; of several things, a line each.

    It has no control characters, whatever it quotes.
    """

    def __init__(self, said: str) -> None:
        super().__init__("\n".join(map(printable, said.split("\n"))))


class ConfigError(StageError):
    """One sentence that names the key, the value and what is allowed."""

    def __init__(self, said: str) -> None:
        super().__init__(" ".join(said.split()))


class TraceError(StageError):
    """A capture or export that can't be used."""


class UnavailableError(RuntimeError):
    """Why something can't run on this machine; `status` is its row's."""

    status = "skipped"


def remake(path: Path) -> str:
    """The advice for an output that can't be used.

    Not to delete it: in a finished run, Snakemake doesn't miss what no job has to read.
    """
    return f"run the same command again with -R {shlex.quote(str(path))}"


CAPTURE_AGAIN = "capture the case again: run the same command with -R and the path of its capture"

ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space"),
    errno.EFBIG: "allow larger files",
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "make the folder writable"),
    errno.ENAMETOOLONG: "choose a shorter path",
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "choose another path"),
}


@contextmanager
def one_sentence(about: str = "") -> Iterator[None]:
    """Exit with one sentence for a StageError, which `about` precedes, and for errors of ADVICE.

    Other exceptions propagate: they are bugs, whose traceback is needed.
    """
    try:
        yield
    except StageError as error:
        sys.exit(f"{printable(about)}: {error}" if about else str(error))
    except OSError as error:
        if error.errno not in ADVICE:
            raise
        # Of a copy, the second file is the one that couldn't be written.
        path = error.filename2 or error.filename
        where = f"{printable(path)}: " if path else ""
        sys.exit(
            f"{where}{os.strerror(error.errno)}; {ADVICE[error.errno]} and run again, "
            "finished files are kept"
        )


def attempt(make: Callable[[], M], otherwise: Callable[[], M]) -> M:
    """What `make` makes. After a defect, which StageError is not, a traceback, and `otherwise`."""
    try:
        return make()
    except StageError:
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return otherwise()


def one_of(key: str, value: object, allowed: Iterable[str]) -> str:
    """The message for a value that isn't allowed, suggesting the closest one."""
    return f"{key}: {not_among(value, allowed)}"


def not_among(value: object, allowed: Iterable[str]) -> str:
    """The same without the key."""
    names = [str(name) for name in allowed]
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{value!r} is not one of {', '.join(names) or '(there is none)'}{hint}"
