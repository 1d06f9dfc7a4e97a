"""No other user can turn the lock of a device against the one who measures."""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workflow_src.common import device_locks
from workflow_src.common.device_locks import DeviceError, one_locked

ROOT = Path(__file__).parent.parent
PRECIOUS = "somebody's data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the locks, which isn't made yet, in another one of mode 0777."""
    monkeypatch.setenv(device_locks.VARIABLE, str(tmp_path / "locks"))
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(0o777)
    return tmp_path / "locks" / device_locks.FOLDER


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    file = tmp_path / "precious"
    file.write_text(PRECIOUS)
    file.chmod(0o600)
    return file


def refused() -> str:
    with pytest.raises(DeviceError) as caught, one_locked(["cpu"], "a case"):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


TRAPS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda lock, victim: lock.symlink_to(victim),
    "second name": lambda lock, victim: lock.hardlink_to(victim),
    "pipe": lambda lock, victim: os.mkfifo(lock),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_what_lies_in_place_of_a_lock_is_refused_and_stays_as_it_is(
    folder: Path, victim: Path, trap: str
) -> None:
    folder.mkdir()
    TRAPS[trap](folder / "cpu.lock", victim)
    assert refused() == (
        f"{folder}/cpu.lock: no device can be locked here (not a regular file with one name); "
        "remove it, or set STEP_TIME_LOCKS to a folder that all who measure on this machine can "
        "write to"
    )
    assert device_locks._holder_in(folder / "cpu.lock") == ""
    assert (victim.read_text(), mode_of(victim)) == (PRECIOUS, 0o600)
    assert not victim.with_name("new").exists()


def test_a_link_in_place_of_the_folder_is_refused_and_opens_nothing_up(folder: Path) -> None:
    theirs = folder.parent.with_name("theirs")
    theirs.mkdir(mode=0o700)
    folder.symlink_to(theirs)
    assert f"{folder}: no device can be locked here (Not a directory)" in refused()
    assert (mode_of(theirs), list(theirs.iterdir())) == (0o700, [])


def test_a_lock_that_is_replaced_while_it_is_held_empties_nothing(
    folder: Path, victim: Path
) -> None:
    """In a folder that isn't sticky, as those of earlier versions are."""
    folder.mkdir()
    with one_locked(["cpu"], "a case"):
        (folder / "cpu.lock").unlink()
        (folder / "cpu.lock").symlink_to(victim)
    assert victim.read_text() == PRECIOUS


def test_only_what_is_new_gets_a_mode(folder: Path) -> None:
    umask = os.umask(0o077)
    try:
        with one_locked(["cpu"], "a case"):
            assert (mode_of(folder), mode_of(folder / "cpu.lock")) == (0o1777, 0o666)
        for path, mode in ((folder, 0o700), (folder / "cpu.lock", 0o600)):
            path.chmod(mode)
        with one_locked(["cpu"], "a case"):
            assert (mode_of(folder), mode_of(folder / "cpu.lock")) == (0o700, 0o600)
    finally:
        os.umask(umask)


@pytest.fixture
def held_for_ever(folder: Path) -> Iterator[Path]:
    """A lock file that something holds which says nothing, as anybody can who may read it."""
    folder.mkdir()
    lock = folder / "cpu.lock"
    lock.write_text("")
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield lock


def test_a_lock_that_somebody_holds_for_ever_ends_the_wait_in_one_sentence(
    held_for_ever: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_locks, "LONGEST_HOLD_S", 0.36)
    assert refused() == (
        "device: cpu is held by another process, and has been for 0.0001 h; if nothing is measured "
        "there, end that process, which lslocks names, or set STEP_TIME_LOCKS to another folder"
    )
    assert capfd.readouterr().err == "Waiting: cpu is held by another process\n"


def test_what_a_holder_says_of_itself_is_short_and_shown_without_control_characters(
    folder: Path,
) -> None:
    folder.mkdir()
    lock = folder / "cpu.lock"
    lock.write_text("\u001b[31mroot\n, for \u202ecase")
    assert device_locks._holder_in(lock) == "␛[31mroot␊, for <U+202E>case"
    lock.write_text("x" * 10_000)
    assert device_locks._holder_in(lock) == "x" * device_locks.LONGEST_TEXT
