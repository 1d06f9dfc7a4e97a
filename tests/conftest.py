"""Fixtures shared by all tests."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests.leftovers import end, marking, still_there
from tests.shared import pytest_sessionstart as pytest_sessionstart
from tests.shared import pytest_unconfigure as pytest_unconfigure
from tests.slurm_stories import stories as stories
from tests.workflow import (
    Project,
    end_servers,
    made_once,
    make_project,
    stage_server,
    write_script,
)
from workflow_src.common import device_locks

# Half of collecting is compiling tests, which is done once, whatever PYTHONDONTWRITEBYTECODE says.
# Processes that are started keep to it: bytecode of a file that is edited twice in a second is old.
sys.dont_write_bytecode = False

# Before torch is imported: workers whose threads outnumber the cores wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DRAWN = os.environ.get("EXAMPLES")
"""How many examples each property is tested with: other ones in each run, where it is set."""
settings.register_profile(
    "drawn",
    max_examples=int(DRAWN or 50),
    derandomize=not DRAWN,
    database=None,
    # Nothing is too slow on a machine that other work keeps busy.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("drawn")

TOGETHER = {
    "tests/test_slurm.py": "slurm",
    "tests/test_snakemake7.py": "slurm",
    "tests/test_staleness.py": "staleness",
    "tests/test_browser.py": "browser",
    "tests/test_brought_models.py": "brought models",
    "tests/test_nsys.py": "nsys",
    "tests/test_operators.py": "operators",
    "tests/report/test_report.py": "report",
    "tests/compare/test_captures.py": "compared captures",
    "tests/studies/test_numerics.py": "numerics",
}
"""Tests that run one after another in one process: they share a cluster, or a costly fixture."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute tests one by one, except those of TOGETHER.

    pytest-xdist 3.8 has --dist=loadgroup for this, which pytest 9.2 no longer understands.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER.get(nodeid.split("::")[0], nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name parameters of bytes by their place: workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


COSTLY = ("workflow", "nsys", "browser", "snakemake7")
"""Marks of tests that start other programs."""


def order(item: pytest.Item) -> int:
    """What waits for Slurm is started first; then cheap tests tell early what is broken."""
    file = f"tests/{item.path.name}"
    if TOGETHER.get(file) == "slurm":
        return 0
    if file in TOGETHER:
        return 2
    return 3 if any(item.get_closest_marker(mark) for mark in COSTLY) else 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=order)


def pytest_collection_finish() -> None:
    """Leave what collecting imported out of garbage collections, of which stages make many."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def locks_of_this_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests don't wait for measurements outside, nor for those of another worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(device_locks.VARIABLE, str(tmp_path_factory.mktemp("locks")))
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Workers of pytest-xdist ignore SIGINT, and so would everything that they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project whose smoke suite has completed, for tests that only read files.

    All workers of pytest-xdist share it. A snakemake, a dry run too, belongs into a copy: it makes
    and removes files, which another test would see or couldn't copy. It may use eight cores, as a
    test reads what ran at once.
    """
    run = "--cores", "8"
    return made_once(tmp_path_factory, "finished", lambda folder: make_project(folder).run(*run))


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Project:
    return Project(finished).copy(tmp_path)


@pytest.fixture
def served_python(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fork each `python -m` that the code under test starts from the server of stages."""
    path = tmp_path_factory.mktemp("bin") / "python"
    write_script(path, '#!/bin/sh\nexec PYTHON -I -S CLIENT "$@"\n')
    # Before Python is another one, which had a server of its own.
    monkeypatch.setenv("WATCH_SERVER", stage_server())
    monkeypatch.setattr(sys, "executable", str(path))


@pytest.fixture(autouse=True)
def nsys_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run nsys in one test at a time: beside another one it lost a report, and once never began.

    That holds for another run of the tests on this machine, too.
    """
    if request.node.get_closest_marker("nsys") is None:
        yield
        return
    with FileLock(Path(gettempdir()) / f"nsys-in-tests-of-{os.getuid()}.lock"):
        yield


@pytest.fixture
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this test and its jobs device locks of their own."""
    monkeypatch.setenv(device_locks.VARIABLE, str(tmp_path_factory.mktemp("locks")))


@pytest.fixture(scope="session", autouse=True)
def no_process_left_behind() -> Iterator[None]:
    """End the processes that the tests leave behind, and fail with their commands."""
    mark = f"{os.getpid()}"
    with marking(mark):
        yield
        end_servers()
        left = still_there(mark)
        end(mark)
    assert not left, f"the tests left these processes behind: {left}"
