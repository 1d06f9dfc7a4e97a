"""The tests leave no process behind, not even when they are killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import leftovers
from tests.leftovers import VARIABLE, marked, marking, still_there
from tests.slurm import wait_until
from tests.workflow import ROOT

LEAVES_ONE = """
import subprocess, time
def test_it():
    subprocess.Popen(["setsid", "sleep", "601"])
    time.sleep({wait_s})
"""


def inner_tests(folder: Path, wait_s: float) -> "subprocess.Popen[str]":
    """Start the tests of a file that leaves a process behind."""
    file = folder / "test_inner.py"
    file.write_text(LEAVES_ONE.format(wait_s=wait_s))
    options = ["-p", "tests.conftest", "--rootdir", str(folder), "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    environment = os.environ | {"STEP_TIME_GRACE_S": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_process_left_behind_fails_the_tests_and_is_named_and_ended(tmp_path: Path) -> None:
    tests = inner_tests(tmp_path, 0)
    printed, _ = tests.communicate()
    assert tests.returncode == 1
    assert "the tests left these processes behind" in printed and "sleep 601" in printed
    assert still_there(str(tests.pid)) == {}


def test_killed_tests_take_their_processes_with_them(tmp_path: Path) -> None:
    tests = inner_tests(tmp_path, 600)
    mark = str(tests.pid)
    wait_until(lambda: "sleep 601" in marked(mark).values(), "the process")
    tests.send_signal(signal.SIGKILL)
    tests.communicate()
    assert still_there(mark) == {}


def test_only_processes_with_the_mark_are_found() -> None:
    with marking("a mark of its own"):
        process = subprocess.Popen(["sleep", "602"])
    wait_until(lambda: "sleep 602" in marked("a mark of its own").values(), "the process")
    assert marked("a mark") == {}
    process.kill()
    process.wait()
    assert marked("a mark of its own") == {}


def recorded_process(folder: Path, environment: str, memory: int, start: int, end: int) -> Path:
    """A folder like /proc/PID, with the fields of stat that tell whether there's an environment."""
    fields = ["0"] * 52
    fields[:3] = ["1000", "(sleep)", "R"]
    fields[22], fields[49], fields[50] = str(memory), str(start), str(end)
    process = folder / "1000"
    process.mkdir(exist_ok=True)
    (process / "stat").write_text(" ".join(fields))
    (process / "environ").write_text(environment)
    (process / "cmdline").write_text("\0".join(["sleep", "603", ""]))
    return process


def test_a_process_whose_program_is_being_replaced_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Recorded on Linux 6.18: this is how `setsid sleep` looks between the two.
    recorded_process(tmp_path, "", memory=4096, start=0, end=0)
    after = {"environment": f"{VARIABLE}=it\0", "memory": 4096, "start": 64, "end": 80}
    monkeypatch.setattr(leftovers.time, "sleep", lambda _: recorded_process(tmp_path, **after))
    assert marked("it", tmp_path) == {1000: "sleep 603"}


@pytest.mark.parametrize(("memory", "start", "end"), [(0, 0, 0), (4096, 64, 64)])
def test_a_process_without_an_environment_is_not_waited_for(
    memory: int, start: int, end: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_process(tmp_path, "", memory, start, end)
    monkeypatch.setattr(leftovers.time, "sleep", lambda _: pytest.fail("it was waited for"))
    assert marked("it", tmp_path) == {}
