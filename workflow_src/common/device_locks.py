"""The locks of this machine's devices, and who holds them.

A lock is a file of the same name in each of several folders, held in all of them: no single folder
is visible to all users, to jobs with a private /tmp or /dev/shm and to containers, and two
processes that see any one of them in common exclude each other.
"""

import json
import os
import pwd
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from workflow_src.common.errors import StageError

POLL_S = 0.2

VARIABLE = "STEP_TIME_LOCKS"
"""Environment variable that names a folder for the locks, instead of those of the machine."""

MACHINE = (Path("/run/lock"), Path("/var/lock"), Path("/dev/shm"))
"""Folders that belong to the machine rather than to a user or a job."""

FOLDER = "transformer-step-time-locks"


class DeviceError(StageError):
    """The requested device is missing or still in use, or can't be locked."""


def lock_folders() -> list[Path]:
    """The folders in which a device is locked: of the machine, or that of temporary files.

    Raises DeviceError if no lock can be kept in the folder named by STEP_TIME_LOCKS, or in the
    last one left.
    """
    if os.environ.get(VARIABLE):
        return [_folder_in(Path(os.environ[VARIABLE]))]
    return _machine_folders() or [_folder_in(Path(tempfile.gettempdir()))]


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
        folder.mkdir(exist_ok=True)
        # World-writable whatever the umask, and not sticky: in a sticky folder the kernel stops
        # one user from opening another's lock (fs.protected_regular).
        with suppress(PermissionError):
            folder.chmod(0o777)
    except OSError as error:
        raise _unusable(folder, os.strerror(error.errno or 0)) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, "not writable")
    return folder


def _unusable(path: Path, why: str) -> DeviceError:
    return DeviceError(
        f"{path}: no device can be locked here ({why}); set {VARIABLE} to a folder that all who "
        "measure on this machine can write to"
    )


@contextmanager
def one_locked(names: Sequence[str], about: str, wait_s: float) -> Iterator[str]:
    """Lock the first free device of `names`, and yield its name; `about` says what for.

    While all are locked, prints who holds them and waits, at most `wait_s` seconds (negative:
    without limit). Raises DeviceError if the wait times out.
    """
    deadline = time.monotonic() + wait_s if wait_s >= 0 else float("inf")
    said = ""
    while True:
        for name in names:
            lock = _try(name, about)
            if lock:
                with lock:
                    yield name
                return
        if time.monotonic() >= deadline:
            raise DeviceError(f"device: {', '.join(names)} still in use after {wait_s:g} s")
        holders = "; ".join(f"{name} is held by {_holder(name)}" for name in names)
        if holders != said:
            print(f"Waiting: {holders}", file=sys.stderr, flush=True)
            said = holders
        time.sleep(POLL_S)


def _files(name: str) -> list[Path]:
    return [folder / f"{name}.lock" for folder in lock_folders()]


def _try(name: str, about: str) -> ExitStack | None:
    """The lock of a device, held; None if another process has it."""
    with ExitStack() as held:
        for path in _files(name):
            try:
                held.enter_context(FileLock(path, mode=0o666).acquire(timeout=0))
            except Timeout:
                return None
            except OSError as error:
                raise _unusable(path, os.strerror(error.errno or 0)) from None
            path.write_text(_myself(about), encoding="utf-8")
            held.callback(path.write_text, "")
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
    for path in _files(name):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(path.read_text(encoding="utf-8"))
            return f"{found['holder']}" + (f", for {found['about']}" if found["about"] else "")
    return "another process"
