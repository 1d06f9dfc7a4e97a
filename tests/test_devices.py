"""One measurement at a time on a device, across processes."""

import itertools
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from workflow_src.common import devices
from workflow_src.common.devices import DeviceError, hold

CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "lock_folder", lambda: tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def measure(folder: str, seen: Any) -> None:
    devices.lock_folder = lambda: Path(folder)
    with hold("cpu"):
        start = time.monotonic()
        time.sleep(0.2)
        seen.put((start, time.monotonic()))


def test_no_two_processes_hold_one_device_at_once(tmp_path: Path) -> None:
    seen: Any = CONTEXT.Queue()
    workers = [CONTEXT.Process(target=measure, args=(str(tmp_path), seen)) for _ in range(3)]
    for worker in workers:
        worker.start()
    spans = sorted(seen.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_a_killed_holder_leaves_the_device_free(tmp_path: Path) -> None:
    seen: Any = CONTEXT.Queue()
    holder = CONTEXT.Process(target=hold_for_ever, args=(str(tmp_path), seen))
    holder.start()
    assert seen.get(timeout=60)
    with pytest.raises(DeviceError, match="still in use"), hold("cpu", wait_s=0):
        pass
    holder.kill()
    holder.join()
    with hold("cpu", wait_s=5) as name:
        assert name == "cpu"


def hold_for_ever(folder: str, seen: Any) -> None:
    devices.lock_folder = lambda: Path(folder)
    with hold("cpu"):
        seen.put(True)
        time.sleep(600)


def test_each_holder_sees_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cuda_devices", lambda: ["GPU-a", "GPU-b"])
    with hold("cuda") as first:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first == "GPU-a"
        with hold("cuda") as second:
            assert os.environ["CUDA_VISIBLE_DEVICES"] == second == "GPU-b"
            with pytest.raises(DeviceError, match="GPU-a, GPU-b still in use after 0 s"):
                hold("cuda", wait_s=0).__enter__()


def test_a_measurement_waits_until_the_previous_process_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On an H200, a lock was free while the previous process still had its CUDA context."""
    seen = iter([[4711], [4711], []])
    monkeypatch.setattr(devices, "cuda_devices", lambda: ["GPU-a"])
    monkeypatch.setattr(devices, "processes_on", lambda uuid: next(seen))
    with hold("cuda"):
        assert next(seen, "asked until idle") == "asked until idle"


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
