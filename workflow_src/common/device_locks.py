"""The locks of this machine's devices, and who holds them.

A lock is a file of the same name in each of several folders, held in all of them: no single folder
is visible to all users, to jobs with a private /tmp or /dev/shm and to containers, and two
processes that see any one of them in common exclude each other.

None of those who share a folder can turn a lock against another: no link is followed (filelock),
and only a regular file without another name is written, through the descriptor that holds the lock,
or read. So no link, FIFO or second name makes a holder write, show or open up anything else, also
where the kernel doesn't protect links (fs.protected_symlinks, proc(5)).
"""

import errno
import os
import pwd
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from workflow_src.common.errors import StageError
from workflow_src.common.printable import printable

POLL_S = 0.2

LONGEST_HOLD_S = 6 * 3600
"""How long a process may hold a device before those who wait give up: a measurement takes minutes,
and each has the lock for itself."""

VARIABLE = "STEP_TIME_LOCKS"
"""Environment variable with a folder for the locks, instead of the machine's."""

MACHINE = (Path("/run/lock"), Path("/var/lock"), Path("/dev/shm"))
"""Folders of the machine rather than of a user or a job."""

FOLDER = "transformer-step-time-locks"

NO_LOCK_FILE = (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO)
"""The errors of opening a link, a folder, a socket, or what `_require_only_name` refuses."""

SHARED_FOLDER, SHARED_FILE = 0o1777, 0o666
"""Modes whatever the umask. In a sticky folder, nobody removes or renames another user's file."""

LONGEST_TEXT = 300
"""Bytes read of a lock file: anybody may have written there."""

SET = f"set {VARIABLE} to a folder that all who measure on this machine can write to"


class DeviceError(StageError):
    """The device is missing, held for too long, or can't be locked."""


def lock_folders() -> list[Path]:
    """The folders in which a device is locked: of the machine, or that of temporary files.

    Raises DeviceError if no lock can be kept in the folder that VARIABLE names, or the last one
    left.
    """
    if os.environ.get(VARIABLE):
        return [_folder_in(Path(os.environ[VARIABLE]))]
    return _machine_folders() or [_folder_in(Path(tempfile.gettempdir()))]


def locks_are_shared() -> bool:
    """Whether other users and jobs look for the locks there."""
    return bool(os.environ.get(VARIABLE) or _machine_folders())


def _machine_folders() -> list[Path]:
    found = []
    for place in MACHINE:
        with suppress(DeviceError):
            found.append(_folder_in(place).resolve())
    return list(dict.fromkeys(found))


def _folder_in(place: Path) -> Path:
    """The folder of locks in a place; one that is there stays as it is."""
    folder, made = place / FOLDER, False
    try:
        with suppress(FileExistsError):
            folder.mkdir()
            made = True
        descriptor = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if made and os.fstat(descriptor).st_uid == os.geteuid():
                os.fchmod(descriptor, SHARED_FOLDER)
        finally:
            os.close(descriptor)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "not writable")
    except OSError as error:
        raise _unusable(folder, error) from None
    return folder


def _unusable(path: Path, error: OSError) -> DeviceError:
    why, remedy = error.strerror, ""
    if error.errno in NO_LOCK_FILE:
        why, remedy = "not a regular file with one name", "remove it, or "
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space there, or "
    return DeviceError(f"{path}: no device can be locked here ({why}); {remedy}{SET}")


@contextmanager
def one_locked(names: Sequence[str], about: str) -> Iterator[str]:
    """Lock the first free device of `names`, and yield its name; `about` says what for.

    While all are locked, says who holds them and waits. Raises DeviceError after LONGEST_HOLD_S
    with the same holders.
    """
    changed = time.monotonic()
    said = ""
    while True:
        for name in names:
            lock = _try(name, about)
            if lock:
                with lock:
                    yield name
                return
        now = time.monotonic()
        holders = "; ".join(f"{name} is held by {_holder(name)}" for name in names)
        if holders != said:
            print(f"Waiting: {holders}", file=sys.stderr, flush=True)
            said, changed = holders, now
        if now - changed >= LONGEST_HOLD_S:
            raise DeviceError(
                f"device: {holders}, and has been for {LONGEST_HOLD_S / 3600:g} h; if nothing is "
                f"measured there, end that process, which lslocks names, or set {VARIABLE} to "
                "another folder"
            )
        time.sleep(POLL_S)


def _files(name: str) -> list[Path]:
    return [folder / f"{name}.lock" for folder in lock_folders()]


def _try(name: str, about: str) -> ExitStack | None:
    """The lock of a device; None if another process holds it."""
    text = (_myself() + (f", for {about}" if about else "")).encode()
    with ExitStack() as held:
        for path in _files(name):
            write = partial(_write, path, text)
            lock = FileLock(path, mode=SHARED_FILE, fallback_to_soft=False, on_acquired=write)
            try:
                held.enter_context(lock.acquire(blocking=False))
            except Timeout:
                return None
            except OSError as error:
                raise _unusable(path, error) from None
        return held.pop_all()


def _write(path: Path, text: bytes, descriptor: int) -> None:
    _require_only_name(path, descriptor)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text, 0)


def _require_only_name(path: Path, descriptor: int) -> None:
    """Raise OSError unless `path` is the only name of what was opened, a regular file."""
    status = os.fstat(descriptor)
    of_one_name = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    if not (of_one_name and os.path.samestat(status, path.lstat())):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _myself() -> str:
    job, user = os.environ.get("SLURM_JOB_ID"), f"user {os.getuid()}"
    with suppress(KeyError):
        user = pwd.getpwuid(os.getuid()).pw_name
    parts = [f"process {os.getpid()} of {user} on {socket.gethostname()}"]
    parts += [f"Slurm job {job}"] if job else []
    parts += [f"since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"]
    return ", ".join(parts)


def _holder(name: str) -> str:
    return next(filter(None, map(_holder_in, _files(name))), "another process")


def _holder_in(path: Path) -> str:
    """What the holder has written of itself, or ""."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _require_only_name(path, descriptor)
            return printable(os.read(descriptor, LONGEST_TEXT))
        finally:
            os.close(descriptor)
    return ""
