"""One measurement at a time on a device, across processes."""

import getpass
import itertools
import multiprocessing
import os
import queue
import re
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.holders import hold_for_ever, hold_shortly
from workflow_src.common import device_locks, devices
from workflow_src.common.device_locks import DeviceError, one_locked
from workflow_src.common.devices import hold
from workflow_src.measure.processes import measured_alone
from workflow_src.tables.measured import doubts

CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(device_locks.VARIABLE, str(tmp_path))
    monkeypatch.setattr(device_locks, "LONGEST_HOLD_S", 0)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def put_by(workers: list[Any], seen: Any) -> Any:
    """What the workers put next, however long they take to start; fails if they all ended."""
    while True:
        alive = any(worker.is_alive() for worker in workers)
        with suppress(queue.Empty):
            return seen.get(timeout=1)
        assert alive, "the workers ended"


def test_no_two_processes_hold_one_device_at_once() -> None:
    seen: Any = CONTEXT.Queue()
    workers = [CONTEXT.Process(target=hold_shortly, args=(seen,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    spans = sorted(put_by(workers, seen) for _ in workers)
    for worker in workers:
        worker.join()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_waiting_says_for_whom_and_a_killed_holder_leaves_the_device_free(
    capfd: pytest.CaptureFixture[str],
) -> None:
    seen: Any = CONTEXT.Queue()
    holder = CONTEXT.Process(target=hold_for_ever, args=(seen,))
    holder.start()
    assert put_by([holder], seen)
    capfd.readouterr()
    with pytest.raises(DeviceError, match="has been for 0 h"), hold("cpu"):
        pass
    line = re.escape(
        f"process {holder.pid} of {getpass.getuser()} on {socket.gethostname()}, since "
    )
    line += r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for tiny-ctx16-fp32"
    assert re.fullmatch(f"Waiting: cpu is held by {line}\n", capfd.readouterr().err)
    holder.kill()
    holder.join()
    with hold("cpu") as names:
        assert names == ["cpu"]


def test_each_holder_sees_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cuda_devices", lambda: ["GPU-a", "GPU-b"])
    with hold("cuda") as (first,):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first == "GPU-a"
        with hold("cuda") as (second,):
            assert os.environ["CUDA_VISIBLE_DEVICES"] == second == "GPU-b"
            with pytest.raises(DeviceError, match=r"GPU-a is held by .*; GPU-b is held"):
                hold("cuda").__enter__()


@pytest.mark.parametrize(
    ("there", "held"),
    [(["GPU-a"], ["GPU-a"]), (["GPU-a", "GPU-b", "GPU-c"], ["GPU-a", "GPU-b"])],
)
def test_a_job_of_two_devices_holds_two_or_as_many_as_there_are(
    monkeypatch: pytest.MonkeyPatch, there: list[str], held: list[str]
) -> None:
    monkeypatch.setattr(devices, "cuda_devices", lambda: there)
    with hold("cuda", count=2) as names:
        assert names == held and os.environ["CUDA_VISIBLE_DEVICES"] == ",".join(held)
        # Whoever takes one after another lets the next one begin once it has all of its own.
        with one_locked([devices.SEVERAL], ""), pytest.raises(DeviceError):
            one_locked(held, "").__enter__()


def test_a_measurement_waits_until_the_previous_process_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On an H200, a lock was free while the previous process still had its CUDA context."""
    seen = iter([[4711], [4711], []])
    monkeypatch.setattr(devices, "cuda_devices", lambda: ["GPU-a"])
    monkeypatch.setattr(devices, "processes_on", lambda uuid: next(seen))
    with hold("cuda"):
        assert next(seen, "asked until idle") == "asked until idle"


def test_a_slurm_job_names_itself_to_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with hold("cpu"):
        assert ", Slurm job 77, since " in device_locks._holder("cpu")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that sets which folders of the machine, and which /tmp, a process sees."""

    def sees(*names: str, tmp: str) -> None:
        places = [tmp_path / name for name in (*names, tmp)]
        for place in places:
            place.mkdir(exist_ok=True)
        monkeypatch.delenv(device_locks.VARIABLE, raising=False)
        monkeypatch.setattr(device_locks, "MACHINE", places[:-1])
        monkeypatch.setattr(tempfile, "tempdir", str(places[-1]))

    return sees


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("run", "shm"), ("run", "shm")),
        (("run", "shm"), ("private", "shm")),
        (("run", "private"), ("run", "shm")),
    ],
)
def test_processes_with_a_private_tmp_exclude_each_other(
    machine: Callable[..., None], first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    machine(*first, tmp="tmp1")
    with hold("cpu"):
        machine(*second, tmp="tmp2")
        with pytest.raises(DeviceError, match="is held by"), hold("cpu"):
            pass
        machine("elsewhere", tmp="tmp3")
        with hold("cpu"):
            pass
    machine(*first, tmp="tmp1")
    with hold("cpu"):
        pass


def test_without_a_folder_of_the_machine_the_result_and_the_report_warn(
    machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured() -> dict[str, Any]:
        return measured_alone("t", {"device": "cpu"}, "phases", dict)

    machine("run", tmp="tmp")
    assert doubts(measured())["locks_are_shared"]
    machine(tmp="tmp")
    assert not doubts(measured())["locks_are_shared"]
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(device_locks, "MACHINE", (tmp_path / "file", tmp_path / "missing"))
    assert not doubts(measured())["locks_are_shared"]


@pytest.mark.parametrize("place", ["file", "missing", "taken"])
def test_an_unusable_lock_folder_gives_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / device_locks.FOLDER).write_text("")
    monkeypatch.setenv(device_locks.VARIABLE, str(tmp_path / place))
    with pytest.raises(DeviceError, match=r"no device can be locked here .*set STEP_TIME_LOCKS to"):
        hold("cpu").__enter__()


def test_no_cuda_device_gives_a_one_sentence_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cuda_devices", lambda: [])
    with pytest.raises(DeviceError, match="no CUDA device is visible; allowed: cpu"):
        hold("cuda").__enter__()


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (None, ["GPU-a1", "GPU-b2"]),
        ("", []),
        ("1", ["GPU-b2"]),
        ("1,0", ["GPU-b2", "GPU-a1"]),
        ("GPU-b", ["GPU-b2"]),
    ],
)
def test_cuda_visible_devices_is_respected(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, left: list[str]
) -> None:
    if asked is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", asked)
    assert devices._visible(["GPU-a1", "GPU-b2"]) == left
