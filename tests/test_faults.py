"""Faults around the workflow: no result is lost, and one sentence says what to do.

Killed jobs are in test_workflow.py, damaged captures in captures, Slurm's faults in test_slurm.py.
"""

import gzip
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.captures.building import event
from tests.slurm import wait_until
from tests.test_nsys import requires_nsys
from tests.workflow import ROOT, SUITE, Project, make_project, served_stage
from workflow_src.common.errors import StageError, TraceError
from workflow_src.measure import capture as capture_stage
from workflow_src.measure import capture as nsys
from workflow_src.measure.capture import capture
from workflow_src.measure.processes import in_fresh_processes

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and other users need root")


def stage(module: str, *arguments: object, **settings: str) -> tuple[int, str]:
    return served_stage(ROOT, f"workflow_src.{module}", *map(str, arguments), **settings)


def sentence(ended: tuple[int, str]) -> str:
    status, said = ended
    lines = said.strip().splitlines()
    assert status == 1 and len(lines) == 1, said
    return lines[0]


@contextmanager
def mounted(folder: Path, size: str = "4k") -> Iterator[Path]:
    """Mount a file system of `size` at `folder`."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("root can't mount file systems on this machine")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def started(project: Project) -> subprocess.Popen[str]:
    """A snakemake that makes BENCHMARK, in a session of its own, as in a terminal."""
    path = f"{project.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.Popen(
        ["snakemake", "--cores", "1", BENCHMARK, "--config", *SUITE],
        cwd=project.folder,
        env=os.environ | {"PATH": path, "WATCH_LOG": str(project.log)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.workflow
def test_an_interrupted_run_says_that_running_again_goes_on(project: Project) -> None:
    """Ctrl-C reaches all processes of a terminal: also the job, and tee, which writes its log."""
    wait = "import time; print('ready', flush=True); time.sleep(600)\n"
    first = "from typing import Any\n"
    project.edit("workflow_src/measure/benchmark.py", first, wait + first)
    log = project.folder / "results/smoke/logs/benchmark/tiny-ctx16-fp32.json.log"
    run = started(project)
    wait_until(lambda: log.exists() and "ready" in log.read_text(), "the benchmark")
    os.killpg(run.pid, signal.SIGINT)
    printed, _ = run.communicate()
    assert run.returncode != 0 and "Traceback" not in printed
    said = "interrupted; run the same command again to go on, finished files are kept"
    assert log.read_text().splitlines() == ["ready", said]
    assert "Finished files are kept; run the same command again to go on." in printed


ROW = {
    "case": "tiny-ctx16-fp32", "size": "tiny", "d_model": 64, "d_ff": 64, "layers": 1, "heads": 2,
    "vocabulary": 10, "batch": 1, "context": 16, "precision": "fp32", "attention": "naive",
    "optimizer": "adamw", "device": "cpu", "seed": 0, "memory_limit_gib": None, "profiler": "nsys",
    "warmup_steps": 1, "steps": 1, "processes": 1, "capture_steps": 100_000,
}  # fmt: skip


@pytest.mark.parametrize("profiler", ["nsys", "torch"])
def test_a_capture_whose_program_is_killed_says_that_memory_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profiler: str
) -> None:
    """As the kernel does when memory runs out; nsys, here a stand-in, passes the status on."""
    (tmp_path / "nsys").write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo version 2025.3 || exit 137"
    )
    (tmp_path / "nsys").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    killed = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(capture_stage, "recorder", lambda row: killed)
    with pytest.raises(TraceError, match=r"was killed \(signal 9\).* memory ran out, most likely"):
        capture(ROW | {"profiler": profiler}, tmp_path / "out" / "c")
    assert list((tmp_path / "out").iterdir()) == []


GIVES_NOTHING = "ended without a result, and without an error"


def test_a_program_that_ends_itself_without_a_result_gives_a_one_sentence_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a function of a model does that calls os._exit(0)."""
    monkeypatch.setattr(capture_stage, "recorder", lambda row: [sys.executable, "-c", "0"])
    with pytest.raises(TraceError, match=f"the program under torch.profiler {GIVES_NOTHING}"):
        capture(ROW | {"profiler": "torch"}, tmp_path / "c")
    with pytest.raises(StageError, match=f"process 1 of 2 {GIVES_NOTHING}"):
        in_fresh_processes("this", {"processes": 2})


LEAVES_A_THREAD = """
import sys, threading, time
from workflow_src.measure import processes
processes.GRACE_S = 0.1
with processes.ended_without_threads("a case"):
    threading.Thread(target=time.sleep, args=(999,), name="loader").start()
    sys.exit(" ".join(sys.argv[1:]) or 0)
"""


@pytest.mark.parametrize("error", ["", "no such model"])
def test_a_thread_that_is_left_running_keeps_no_process(error: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEAVES_A_THREAD, *filter(None, [error])],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    said = "a case: ended, though its code left running: loader"
    assert ended.returncode == bool(error)
    assert ended.stderr.splitlines() == [*filter(None, [error]), said]


@pytest.mark.nsys
@requires_nsys
def test_a_damaged_nsys_report_gives_a_one_sentence_error(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.nsys-rep", tmp_path / "bad.nsys-rep"
    nsys.profile(good, ["true"], "cpu")
    content = good.read_bytes()
    for damaged in (content[: len(content) // 2], b"a report of its own"):
        bad.write_bytes(damaged)
        said = sentence(stage("captures.export_case", "--capture", bad, "--output", tmp_path / "e"))
        assert said.startswith("bad.nsys-rep: nsys export failed")
        assert "run the same command again with -R " in said
        assert not (tmp_path / "e").exists()


def kineto_file(folder: Path) -> Path:
    events = [event("user_annotation", f"forward{n}", 1.0, 9.0) for n in range(1000)]
    path = folder / "c.kineto.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode(), 0))
    return path


@needs_root
def test_a_full_disk_gives_a_one_sentence_error_and_leaves_no_partial_files(tmp_path: Path) -> None:
    capture_file = kineto_file(tmp_path)
    with mounted(tmp_path / "full") as full:
        planned = stage("captures.export_case", "--capture", capture_file, "--output", full / "e")
        said = sentence(planned)
        assert said.startswith(f"{full}/") and "free some space and run again" in said
        assert list(full.iterdir()) == []
        (full / "rest").write_bytes(b"0" * 4096)
        point = tmp_path / "p.json"
        around = {"environment": {"gpu": ""}, "point": {"point": "a"}}
        point.write_text(json.dumps(around | {"rows": [{"status": "oom", "x": "y" * 9999}]}))
        files = ("--points", point, "--output", full / "t.csv")
        joined = stage("studies.join_points", "--study", "warmup", *files)
        assert sentence(joined) == (
            f"{full / 't.csv'}: No space left on device; free some space and run again, "
            "finished files are kept"
        )
        assert [file.name for file in full.iterdir()] == ["rest"]


@pytest.mark.workflow
def test_params_with_shell_characters_stay_text(project: Project) -> None:
    """The schema rejects them, and the rules quote them anyway."""
    evil = "'; touch pwned; $(touch pwned) `touch pwned` & | > pwned <b> \\\\ {x}"
    project.edit(
        "workflow_src/plan/suites.py",
        "return self._row(case_id, BENCHMARK_KEYS) | energy",
        f'return self._row(case_id, BENCHMARK_KEYS) | {{"note": """{evil}"""}}',
    )
    said = project.run("-n", "-p", BENCHMARK)
    (command,) = [line for line in said.splitlines() if "measure.benchmark --case" in line]
    words = shlex.split(command)
    assert json.loads(words[words.index("--case") + 1])["note"] == evil.replace("\\\\", "\\")
    assert not list(project.folder.rglob("pwned*"))


def published() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = [n for n in listed.stdout.split("\0") if n.startswith(("tests/data/", "examples/"))]
    return [ROOT / name for name in names]


PRIVATE = (b"/home/", b"/root/", b"/work/", b"/Users/", b"/tmp/", b"LD_LIBRARY_PATH", b"HOSTNAME=")
PRIVATE_ROWS = ("EXPORT_HOST", "EXPORT_USER", "EXPORT_PARAM")
PRIVATE_TABLES = ("TARGET_INFO_SYSTEM_ENV", "PROCESSES", "ThreadNames", "ANALYSIS_DETAILS")


def content_of(file: Path) -> bytes:
    """What a file holds, unpacked, but for the temporary file that torch writes a trace to."""
    if file.name.endswith(".tar.gz"):
        with tarfile.open(file) as archive:
            parts = [(each.name, archive.extractfile(each)) for each in archive if each.isfile()]
            return b"".join(name.encode() + data.read() for name, data in parts if data)
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return re.sub(rb'"traceName": "/tmp/tmp\w+\.json"', b"", content)


def names_a_machine(file: Path) -> bool:
    content = content_of(file)
    if any(word in content for word in PRIVATE) or file.suffix != ".sqlite":
        return any(word in content for word in PRIVATE)
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        exported = connection.execute("SELECT name FROM META_DATA_EXPORT")
        tables, rows = ({name for (name,) in found} for found in (listed, exported))
    return bool(tables & set(PRIVATE_TABLES)) or any(n.startswith(PRIVATE_ROWS) for n in rows)


def test_published_files_name_no_machine() -> None:
    files = published()
    assert len(files) > 200 and [file for file in files if names_a_machine(file)] == []
