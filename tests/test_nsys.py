"""The nsys reader and command line: recorded exports, a fake nsys, and a real one."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.leftovers import marked, marking, still_there
from tests.slurm import wait_until
from tests.workflow import ROOT
from workflow_src.captures.export_case import export
from workflow_src.captures.reading import read
from workflow_src.common import nsys_cli
from workflow_src.common.case import END_OF_CAPTURE
from workflow_src.common.errors import TraceError
from workflow_src.measure import capture as nsys
from workflow_src.placing.case_capture import placed_case, read_case, require_complete
from workflow_src.tables.case_tables import stats_total_ns

DATA = Path(__file__).parent / "data" / "nsys"
NEW = DATA / "autograd_thread_nsys2025.3.sqlite"
OLD = DATA / "autograd_thread_nsys2023.4.sqlite"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that puts a fake `nsys` on the PATH, which runs a line of shell."""

    def install(shell: str, version: str = "2025.3.2.0") -> None:
        path = tmp_path / "bin" / "nsys"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"#!/bin/sh\n[ $1 = --version ] && echo version {version} && exit\n{shell}\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")

    return install


def test_a_capture_without_its_closing_range_was_cut_short(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cut short: .* ranges that nsys 2025.3.2.0 kept; "):
        require_complete(placed_case(read(NEW)))
    whole = Path(shutil.copy(NEW, tmp_path))
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute(
            "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT"
            f" max(end), max(end) + 9, 59, '{END_OF_CAPTURE}', globalTid, 0 FROM NVTX_EVENTS"
        )
    require_complete(placed_case(read(whole)))


def test_the_csv_is_what_follows_the_header() -> None:
    table = 'Time (%),Total Time (ns),Instances,Name\n100.0,5,1,"k(a, b, c)"\n'
    printed = f"Processing [trace.sqlite] with [cuda_gpu_kern_sum.py]... \n\n{table}\n"
    assert nsys_cli.csv_part(printed) == table
    assert nsys_cli.csv_part("SKIPPED: trace.sqlite does not contain CUDA kernel data.\n") == ""


def test_an_nsys_that_is_missing_or_too_old_is_refused(
    monkeypatch: pytest.MonkeyPatch, stand_in: Callable[..., None]
) -> None:
    stand_in("true", version="2022.4.2.1")
    with pytest.raises(TraceError, match=r"nsys 2022.4 is too old .* use 2023.4 or newer"):
        nsys_cli.version()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TraceError, match="install Nsight Systems or set profiler to torch"):
        nsys_cli.version()


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ("exit 0", "never opened the capture range"),
        ("touch {out}.qdstrm", "importer failed, .*; install the library that it misses"),
        ("exit 3", "ended with status 3"),
        ("touch {out}.nsys-rep; exit 1", "ended with status 1"),
    ],
)
def test_each_failure_of_nsys_has_its_own_message(
    tmp_path: Path, stand_in: Callable[[str], None], shell: str, said: str
) -> None:
    stand_in(shell.format(out=tmp_path / "c"))
    with pytest.raises(TraceError, match=said):
        nsys.profile(tmp_path / "c.nsys-rep", ["true"], "cuda")


def test_a_failed_import_is_tried_once_more(
    tmp_path: Path, stand_in: Callable[[str], None]
) -> None:
    out = tmp_path / "c"
    stand_in(f"if mkdir {out}; then touch {out}.qdstrm; exit 1; else touch {out}.nsys-rep; fi")
    nsys.profile(tmp_path / "c.nsys-rep", ["true"], "cuda")
    assert not (tmp_path / "c.qdstrm").exists()


def test_the_program_opens_the_window_on_cuda_and_sampling_is_off() -> None:
    on_cuda = nsys.profile_command(Path("c.nsys-rep"), ["prog"], "cuda")
    assert "cudaProfilerApi" in on_cuda and "--capture-range-end=stop" in on_cuda
    assert on_cuda[on_cuda.index("-s") + 1] == "none" and "--cpuctxsw=none" in on_cuda
    on_cpu = nsys.profile_command(Path("c.nsys-rep"), ["prog"], "cpu")
    assert "cudaProfilerApi" not in on_cpu


requires_nsys = pytest.mark.skipif(
    shutil.which("nsys") is None and not os.environ.get("REQUIRE_NSYS"),
    reason="no nsys on the PATH, and REQUIRE_NSYS is not set",
)


@pytest.mark.nsys
@requires_nsys
def test_a_real_nsys_captures_exports_and_reports(tmp_path: Path) -> None:
    capture, folder = tmp_path / "c.nsys-rep", tmp_path / "export"
    code = (
        "import nvtx\n"
        "for _ in range(3):\n"
        "    with nvtx.annotate('forward'):\n"
        "        with nvtx.annotate('block'): sum(range(1000))\n"
        f"with nvtx.annotate('{END_OF_CAPTURE}'): sum(range(1000))\n"
    )
    nsys.profile(capture, [sys.executable, "-c", code], "cpu")
    export(capture, folder)
    case = read_case(folder)
    require_complete(case)
    names = case.ranges["name"].value_counts().to_dict()
    assert names == {"forward": 3, "block": 3, END_OF_CAPTURE: 1}
    assert case.placed.capture.total_ns == 0
    assert stats_total_ns(folder / "cuda_gpu_kern_sum.csv") is None


STAGE = """
import sys
from pathlib import Path
from workflow_src.common import nsys_cli
from workflow_src.measure import capture as nsys
nsys.profile(Path(sys.argv[1]), sys.argv[2:], "cpu")
"""
AGENT = """
setsid sleep 600 > /dev/null 2>&1 &
while [ $1 != -o ]; do shift; done
out=$2; shift 2; "$@"; status=$?
touch $out; exit $status
"""
"""As nsys does, start a process in a session of its own, which here never ends."""


WAITS = "until [ -e go ]; do sleep 0.1; done"
REAL = [pytest.mark.nsys, requires_nsys]


@pytest.mark.parametrize(
    ("real", "program", "ending"),
    [
        (False, WAITS, None),
        (False, f"{WAITS}; false", None),
        (False, "sleep 601", signal.SIGINT),
        (False, "sleep 601", signal.SIGKILL),
        pytest.param(True, WAITS, None, marks=REAL),
        pytest.param(True, "sleep 601", signal.SIGTERM, marks=REAL),
    ],
)
def test_no_process_outlives_the_stage_that_started_nsys(
    tmp_path: Path,
    stand_in: Callable[[str], None],
    real: bool,
    program: str,
    ending: signal.Signals | None,
) -> None:
    if not real:
        stand_in(AGENT)
    mark = str(tmp_path)
    agent = "--start-agent" if real else "sleep 600"
    command = [sys.executable, "-c", STAGE, str(tmp_path / "c.nsys-rep"), "sh", "-c", program]

    def begun() -> subprocess.Popen[bytes]:
        with marking(mark):
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            stage = subprocess.Popen(command, cwd=tmp_path, env=environment)
        wait_until(lambda: started() or stage.poll() is not None, "the agent")
        return stage

    def started() -> bool:
        return any(agent in command for command in marked(mark).values())

    # nsys 2023.4 ended before it began, "Local Endpoint is not available", once at a load of 10.
    stage = next(it for _ in range(3) if (it := begun()).poll() is None)
    if ending:
        wait_until(lambda: "sleep 601" in marked(mark).values(), "the program")
        stage.send_signal(ending)
    (tmp_path / "go").touch()
    assert (stage.wait() == 0) == program.endswith("done")
    assert still_there(mark) == {}


def test_totals_of_nsys_stats_that_were_deleted_are_missed_and_skipped_ones_are_not(
    tmp_path: Path,
) -> None:
    report = tmp_path / "cuda_gpu_kern_sum.csv"
    said = f"{report} is missing from its export; run the same command again with -R {tmp_path}$"
    with pytest.raises(TraceError, match=said):
        stats_total_ns(report)
    report.touch()
    assert stats_total_ns(report) is None


@pytest.mark.nsys
@requires_nsys
def test_a_real_nsys_prints_the_recorded_totals(tmp_path: Path) -> None:
    """`nsys stats` finds the kernel time that our reader finds (see test_nesting.py)."""
    copy = tmp_path / "trace.sqlite"
    shutil.copy(OLD, copy)
    report = tmp_path / "cuda_gpu_kern_sum.csv"
    report.write_text(nsys_cli.stats(copy, "cuda_gpu_kern_sum"))
    assert stats_total_ns(report) == 4_653_813
