"""Lock files in a folder that all users share, which none of them can turn against another.

A file is opened through the descriptor of its folder, and no link is followed; its text is written
through the descriptor that holds the lock, and only what was just made has its mode changed. So
neither a link, a FIFO nor a file with a second name makes a holder write, open up or wait for
anything else, also where the kernel doesn't protect links (fs.protected_symlinks, proc(5)).
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SHARED_FOLDER, SHARED_FILE = 0o1777, 0o666
"""Modes whatever the umask. In a sticky folder, nobody removes or renames another user's file."""

GUARDED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

LONGEST_TEXT = 2**12
"""Bytes that are read of a lock file: anybody may have written there."""


def make_shared_folder(folder: Path) -> None:
    """Make a folder for lock files; one that is there stays as it is.

    Raises OSError, also for a link or a file in its place.
    """
    made = True
    try:
        folder.mkdir()
    except FileExistsError:
        made = False
    with _opened_folder(folder) as descriptor:
        if made and os.fstat(descriptor).st_uid == os.geteuid():
            os.fchmod(descriptor, SHARED_FOLDER)


@contextmanager
def locked(path: Path, text: str) -> Iterator[bool]:
    """Hold a file's lock, with `text` in it meanwhile; yields False if another process holds it.

    Raises OSError, also for a folder, a link or anything else that isn't a lock file.
    """
    with _opened_folder(path.parent) as folder, _opened(path.name, folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        if not _is_named(descriptor, path.name, folder):
            yield False
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        try:
            yield True
        finally:
            os.ftruncate(descriptor, 0)


def text_in(path: Path) -> str:
    """The text in a lock file; "" if there is no such file."""
    with suppress(OSError), _opened_folder(path.parent) as folder:
        descriptor = os.open(path.name, os.O_RDONLY | GUARDED, dir_fd=folder)
        try:
            _require_lock_file(os.fstat(descriptor))
            return os.read(descriptor, LONGEST_TEXT).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    return ""


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | GUARDED)
    except NotADirectoryError:
        _refuse_link(folder.lstat())
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    try:
        descriptor = _descriptor(name, folder)
    except OSError:
        # A socket can't be opened; "no such device or address" helps nobody.
        _require_lock_file(os.stat(name, dir_fd=folder, follow_symlinks=False))
        raise
    try:
        _require_lock_file(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _descriptor(name: str, folder: int) -> int:
    """A file that is there or, if there is none, a new one, for every user to write to.

    It is never opened with O_CREAT where another user may have made it: the kernel refuses that in
    a sticky folder (fs.protected_regular).
    """
    while True:
        with suppress(FileNotFoundError):
            return os.open(name, os.O_RDWR | GUARDED, dir_fd=folder)
        with suppress(FileExistsError):
            made = os.open(name, os.O_RDWR | GUARDED | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            os.fchmod(made, SHARED_FILE)
            return made


def _is_named(descriptor: int, name: str, folder: int) -> bool:
    """Whether an open file still has its name: others lock the file that has it now."""
    with suppress(FileNotFoundError):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(there, os.fstat(descriptor))
    return False


def _refuse_link(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "a link, which is not followed")


def _require_lock_file(status: os.stat_result) -> None:
    _refuse_link(status)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "a file with another name elsewhere")
