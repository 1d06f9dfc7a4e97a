"""The locks of this machine's devices, and who holds them.

A lock is a file of the same name in each of several folders, held in all of them: no single folder
is visible to all users, to jobs with a private /tmp or /dev/shm and to containers, and two
processes that see any one of them in common exclude each other.
"""

import errno
import json
import os
import pwd
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from workflow_src.common.errors import StageError
from workflow_src.common.lock_files import locked, make_shared_folder, text_in
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
"""What helps beside another folder, by error; common/lock_files.py raises those of the second."""

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
    folder = place / FOLDER
    try:
        make_shared_folder(folder)
    except OSError as error:
        raise _unusable(folder, error) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, PermissionError(errno.EACCES, "not writable"))
    return folder


def _unusable(path: Path, error: OSError) -> DeviceError:
    return DeviceError(
        f"{path}: no device can be locked here ({error.strerror}); "
        f"{REMEDIES.get(error.errno or 0, '')}{SET}"
    )


@contextmanager
def one_locked(
    names: Sequence[str],
    about: str,
    wait_s: float,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[str]:
    """Lock the first free device of `names`, and yield its name; `about` says what for.

    While all are locked, prints who holds them, calls `meanwhile`, once, and waits, at most
    `wait_s` seconds (negative: as long as holders change). Raises DeviceError if the wait times
    out, and what `meanwhile` raises.
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
            if not said:
                meanwhile()
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
                if not held.enter_context(locked(path, _myself(about))):
                    return None
            except OSError as error:
                raise _unusable(path, error) from None
        return held.pop_all()


def _myself(about: str) -> str:
    job = os.environ.get("SLURM_JOB_ID")
    parts = [f"process {os.getpid()} of {_user()} on {socket.gethostname()}"]
    parts += [f"Slurm job {job}"] if job else []
    parts += [f"since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"]
    return json.dumps({"holder": ", ".join(parts), "about": about})


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _holder(name: str) -> str:
    """Who holds a device, since when and for what, as written by that process."""
    return next(filter(None, map(holder_in, _files(name))), "another process")


def holder_in(path: Path) -> str:
    """Who a lock file says to hold it, since when and for what; "" if it doesn't say."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        written = json.loads(text_in(path))
        about = f", for {written['about']}" if written["about"] else ""
        return printable(f"{written['holder']}{about}")
    return ""
