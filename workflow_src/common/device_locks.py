"""The locks of this machine's devices, and who holds them.

A lock is a file of the same name in each of several folders, held in all of them: no single folder
is visible to all users, to jobs with a private /tmp or /dev/shm and to containers, and two
processes that see any one of them in common exclude each other.

None of those who share a folder can turn a lock against another: a file is opened through the
descriptor of its folder, no link is followed, its text is written through the descriptor that holds
the lock, and only what was just made has its mode changed. So neither a link, a FIFO nor a file
with a second name makes a holder write, open up or wait for anything else, also where the kernel
doesn't protect links (fs.protected_symlinks, proc(5)).
"""

import errno
import fcntl
import json
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
from pathlib import Path

from workflow_src.common.errors import StageError
from workflow_src.common.printable import printable

POLL_S = 0.2

LONGEST_HOLD_S = 6 * 3600
"""How long one process may hold a device before those who wait for it give up: a measurement takes
minutes, and each has the lock for itself."""

VARIABLE = "STEP_TIME_LOCKS"
"""Environment variable that names a folder for the locks, instead of those of the machine."""

MACHINE = (Path("/run/lock"), Path("/var/lock"), Path("/dev/shm"))
"""Folders that belong to the machine rather than to a user or a job."""

FOLDER = "transformer-step-time-locks"

REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space there, or "),
    **dict.fromkeys((errno.ELOOP, errno.EINVAL, errno.EMLINK), "remove it, or "),
}
"""What helps beside another folder, by error; `_require_lock_file` raises those of the second."""

SHARED_FOLDER, SHARED_FILE = 0o1777, 0o666
"""Modes whatever the umask. In a sticky folder, nobody removes or renames another user's file."""

GUARDED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

LONGEST_TEXT = 2**12
"""Bytes that are read of a lock file: anybody may have written there."""

SET = f"set {VARIABLE} to a folder that all who measure on this machine can write to"


class DeviceError(StageError):
    """The requested device is missing or still in use, or can't be locked."""


def lock_folders() -> list[Path]:
    """The folders in which a device is locked: of the machine, or that of temporary files.

    Raises DeviceError if no lock can be kept in the folder named by STEP_TIME_LOCKS, or in the
    last one left.
    """
    if os.environ.get(VARIABLE):
        return [_folder_in(Path(os.environ[VARIABLE]))]
    return _machine_folders() or [_folder_in(temporary_folder())]


def temporary_folder() -> Path:
    """The folder of temporary files. Raises DeviceError if none can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise DeviceError(
            f"no folder for temporary files can be written to ({error.strerror}); free some space, "
            f"or set TMPDIR, or {SET}"
        ) from None


def locks_are_shared() -> bool:
    """Whether the locks are where other users and jobs look for them."""
    return bool(os.environ.get(VARIABLE) or _machine_folders())


def _machine_folders() -> list[Path]:
    found = []
    for place in MACHINE:
        with suppress(DeviceError):
            found.append(_folder_in(place).resolve())
    return list(dict.fromkeys(found))


def _folder_in(place: Path) -> Path:
    """The folder of locks in a place, made if there is none; one that is there stays as it is."""
    folder, made = place / FOLDER, False
    try:
        with suppress(FileExistsError):
            folder.mkdir()
            made = True
        with _opened(folder) as descriptor:
            if made and os.fstat(descriptor).st_uid == os.geteuid():
                os.fchmod(descriptor, SHARED_FOLDER)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "not writable")
    except OSError as error:
        raise _unusable(folder, error) from None
    return folder


def _unusable(path: Path, error: OSError) -> DeviceError:
    return DeviceError(
        f"{path}: no device can be locked here ({error.strerror}); "
        f"{REMEDIES.get(error.errno or 0, '')}{SET}"
    )


@contextmanager
def one_locked(names: Sequence[str], about: str, wait_s: float) -> Iterator[str]:
    """Lock the first free device of `names`, and yield its name; `about` says what for.

    While all are locked, prints who holds them and waits, at most `wait_s` seconds (negative: as
    long as holders change). Raises DeviceError if the wait times out.
    """
    began = changed = time.monotonic()
    said = ""
    while True:
        for name in names:
            lock = _try(name, about)
            if lock:
                with lock:
                    yield name
                return
        now = time.monotonic()
        if 0 <= wait_s <= now - began:
            raise DeviceError(f"device: {', '.join(names)} still in use after {wait_s:g} s")
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
    """The lock of a device, held; None if another process has it."""
    with ExitStack() as held:
        for path in _files(name):
            try:
                if not held.enter_context(_locked(path, _myself(about))):
                    return None
            except OSError as error:
                raise _unusable(path, error) from None
        return held.pop_all()


@contextmanager
def _locked(path: Path, text: str) -> Iterator[bool]:
    """Hold a file's lock, with `text` in it meanwhile; yields False if another process holds it.

    Raises OSError, also for a folder, a link or anything else that isn't a lock file.
    """
    with _opened(path.parent) as folder, _opened_file(path.name, folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Others lock the file that has the name now.
            there = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        except (BlockingIOError, FileNotFoundError):
            there = None
        if there is None or not os.path.samestat(there, os.fstat(descriptor)):
            yield False
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        try:
            yield True
        finally:
            os.ftruncate(descriptor, 0)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
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
def _opened_file(name: str, folder: int, flags: int = os.O_RDWR) -> Iterator[int]:
    """A lock file that is there or, where it may be written to, a new one for every user."""
    try:
        descriptor = _descriptor(name, folder, flags)
    except OSError:
        # A socket can't be opened; "no such device or address" helps nobody.
        _require_lock_file(os.stat(name, dir_fd=folder, follow_symlinks=False))
        raise
    try:
        _require_lock_file(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _descriptor(name: str, folder: int, flags: int) -> int:
    # Never opened with O_CREAT where another user may have made it: the kernel refuses that in a
    # sticky folder (fs.protected_regular).
    while True:
        try:
            return os.open(name, flags | GUARDED, dir_fd=folder)
        except FileNotFoundError:
            if flags != os.O_RDWR:
                raise
        with suppress(FileExistsError):
            new = os.O_CREAT | os.O_EXCL
            made = os.open(name, flags | GUARDED | new, 0o600, dir_fd=folder)
            os.fchmod(made, SHARED_FILE)
            return made


def _refuse_link(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "a link, which is not followed")


def _require_lock_file(status: os.stat_result) -> None:
    _refuse_link(status)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "a file with another name elsewhere")


def _myself(about: str) -> str:
    job, user = os.environ.get("SLURM_JOB_ID"), f"user {os.getuid()}"
    with suppress(KeyError):
        user = pwd.getpwuid(os.getuid()).pw_name
    parts = [f"process {os.getpid()} of {user} on {socket.gethostname()}"]
    parts += [f"Slurm job {job}"] if job else []
    parts += [f"since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"]
    return json.dumps({"holder": ", ".join(parts), "about": about})


def _holder(name: str) -> str:
    """Who holds a device, since when and for what, as written by that process."""
    return next(filter(None, map(holder_in, _files(name))), "another process")


def holder_in(path: Path) -> str:
    """Who a lock file says to hold it, since when and for what; "" if it doesn't say."""
    with (
        suppress(OSError, ValueError, KeyError, TypeError, RecursionError),
        _opened(path.parent) as folder,
        _opened_file(path.name, folder, os.O_RDONLY) as descriptor,
    ):
        written = json.loads(os.read(descriptor, LONGEST_TEXT).decode("utf-8", "replace"))
        about = f", for {written['about']}" if written["about"] else ""
        return printable(f"{written['holder']}{about}")
    return ""
