"""Tries mutants of mutants.py by the tests that run their lines.

Each test file is run by itself once, in a copy of the tree; what lines its processes run is
recorded. One that fails or takes too long tries nothing. Then each mutant is tried by the test
files that ran its statement, the quickest first, until one fails: "killed", or "timed out" if they
take three times as long as without it. It "survived" otherwise: where --limit left tests out, their
number is told. "not run" is what no test runs, "gone" what the tree no longer has.

OUTPUT is appended to after each mutant, OUTPUT.tests after each test file; what stands there isn't
done again. No test may be flaky where all cores are busy.
"""

import ast
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

NOT_COPIED = shutil.ignore_patterns(".[!p]*", "results", "__pycache__")
QUICK = "not workflow and not nsys and not browser and not slurm and not gpu and not snakemake7"
SLOWEST_S = 300
"""A test file that takes longer by itself tries nothing."""
G = TypeVar("G")
R = TypeVar("R")
COLUMNS = ("file", "line", "before", "after", "result", "by", "left_out", "seconds")

# Takes part in each Python that has it on its path, so in those that tests start. It writes each
# line of workflow_src when it is first run: forks that end by os._exit have no later moment.
RECORDER = """
import os, sys, threading
if path := os.environ.get("MUTANTS_LINES"):
    output = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    def ran(code, line, seen=set()):
        name, key = code.co_filename, (code.co_filename, line)
        if "/workflow_src/" in name and key not in seen:
            seen.add(key)
            name = name[name.rindex("/workflow_src/") + 1:]
            os.write(output, f"{name}:{line}\\n".encode())
        return sys.monitoring.DISABLE if sys.version_info >= (3, 12) else None
    if sys.version_info >= (3, 12):
        sys.monitoring.use_tool_id(4, "mutants")
        sys.monitoring.register_callback(4, sys.monitoring.events.LINE, ran)
        sys.monitoring.set_events(4, sys.monitoring.events.LINE)
    else:
        def traced(frame, event, value):
            if "/workflow_src/" not in frame.f_code.co_filename:
                return None
            ran(frame.f_code, frame.f_lineno)
            return traced
        sys.settrace(traced)
        threading.settrace(traced)
"""


class Mutant(NamedTuple):
    """A line of a file before and after a change, and where it stands now."""

    file: str
    line: int
    before: str
    after: str
    now: tuple[str, int] | None


def statement(path: Path, line: int) -> range:
    """The lines of the smallest statement, or of the head of one, around a line."""
    text = path.read_text()
    found = [range(1, text.count("\n") + 2)]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            found.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if body := getattr(node, "body", None):
                found.append(range(node.lineno, body[0].lineno))
    return min((lines for lines in found if line in lines), key=len)


class Trying:
    """A tree of code and tests, of which each worker has a copy."""

    def __init__(self, root: Path, made: Path, workers: int, mark: str) -> None:
        self.mark, self.workers = mark, workers
        self.copies: SimpleQueue[Path] = SimpleQueue()
        self.running: set[subprocess.Popen[bytes]] = set()
        for n in range(workers):
            shutil.copytree(root, made / f"{n}" / "project", ignore=NOT_COPIED, symlinks=True)
            (made / f"{n}" / "tmp").mkdir()
            (made / f"{n}" / "sitecustomize.py").write_text(RECORDER)
            self.copies.put(made / f"{n}" / "project")

    def each(
        self, function: Callable[[Path, G], R], given: Iterable[G], add: Callable[[R], None]
    ) -> None:
        """Give `add` what a function gives of a copy and each thing given, as they come."""

        def done(one: G) -> R:
            copy = self.copies.get()
            try:
                return function(copy, one)
            finally:
                self.copies.put(copy)

        with ThreadPoolExecutor(self.workers) as pool:
            waiting = [pool.submit(done, one) for one in given]
            try:
                for future in as_completed(waiting):
                    add(future.result())
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(self.running):
                    ended(process)

    def failed(
        self, copy: Path, tests: Sequence[str], limit_s: float, lines: Path | None = None
    ) -> str | None:
        """The first test file that fails, or None; "pytest" if what all of them need does.

        What tests start ends with them. Raises TimeoutExpired.
        """
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        path = os.pathsep.join([str(copy), str(copy.parent), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {
            "PYTHONPATH": path.rstrip(os.pathsep),
            "TMPDIR": str(copy.parent / "tmp"),
            "MUTANTS_LINES": str(lines or ""),
        }
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [*command, "-m", self.mark, *tests], cwd=copy, env=environment,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
            self.running.add(process)
            try:
                status = process.wait(limit_s)
            finally:
                ended(process)
                self.running.discard(process)
            said.seek(0)
            found = re.search(r"^(?:FAILED|ERROR) ([\w/]+\.py)", said.read(), re.MULTILINE)
        # 5: all of them were deselected.
        return None if status in (0, 5) else found[1] if found else "pytest"

    def ran(self, copy: Path, given: tuple[str, Mapping[str, frozenset[str]]]) -> dict[str, Any]:
        """Whether a test file passes, in how many seconds, and which of some lines it runs."""
        test, asked = given
        began, lines = time.monotonic(), copy.parent / "lines"
        lines.write_bytes(b"")
        try:
            sound = self.failed(copy, [test], SLOWEST_S, lines) is None
        except subprocess.TimeoutExpired:
            sound = False
        seconds, found = round(time.monotonic() - began, 1), set(lines.read_text().split("\n"))
        runs = [key for key, any_of in asked.items() if sound and not any_of.isdisjoint(found)]
        return {"test": test, "sound": sound, "seconds": seconds, "runs": runs}

    def tried(self, copy: Path, given: tuple[Mutant, dict[str, float], int]) -> list[Any]:
        """A row of OUTPUT, of a mutant, the seconds of each test and the tests left out."""
        mutant, tests, left_out = given
        assert mutant.now is not None
        path, line = copy / mutant.now[0], mutant.now[1]
        text = path.read_text()
        lines, by, began = text.splitlines(), "", time.monotonic()
        was = lines[line - 1]
        lines[line - 1] = was[: len(was) - len(was.lstrip())] + mutant.after.strip()
        try:
            written(path, "\n".join(lines) + "\n")
            by = self.failed(copy, list(tests), 3 * sum(tests.values()) + 60) or ""
            result = "killed" if by else "survived"
        except subprocess.TimeoutExpired:
            result = "timed out"
        finally:
            written(path, text)
        return [*mutant[:4], result, by, left_out, f"{time.monotonic() - began:.1f}"]


def ended(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def written(path: Path, text: str) -> None:
    """Write a module, and drop its bytecode: Python would keep that of the same second."""
    path.write_text(text)
    for old in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        old.unlink()


def chosen(found: Mapping[str, float], limit_s: float) -> tuple[dict[str, float], int]:
    """Of test files with their seconds the quickest, and how many are left out."""
    taken: dict[str, float] = {}
    for test in sorted(found, key=found.__getitem__):
        if not taken or sum(taken.values()) + found[test] <= limit_s:
            taken[test] = found[test]
    return taken, len(found) - len(taken)


def try_all(
    mutants: Sequence[Mutant], root: Path, output: Path, workers: int, limit_s: float, mark: str
) -> None:
    """Try each mutant that `output` has no row of, and append one."""
    if not output.is_file():
        output.write_text(",".join(COLUMNS) + "\n")
    with output.open(newline="") as file:
        done = {tuple(row[:4]) for row in csv.reader(file)}
    asked = {
        f"{file}:{line}": frozenset(f"{file}:{n}" for n in statement(root / file, line))
        for file, line in {each.now for each in mutants if each.now}
    }
    said = Path(f"{output}.tests")
    known = [json.loads(line) for line in said.read_text().splitlines()] if said.is_file() else []
    paths = sorted(root.glob("tests/**/test_*.py"), key=lambda path: -path.stat().st_size)
    tests = {str(path.relative_to(root)): asked for path in paths}
    for one in known:
        tests.pop(one["test"], None)
    with tempfile.TemporaryDirectory() as made:
        trying = Trying(root, Path(made), workers, mark)

        def add_test(one: dict[str, Any]) -> None:
            known.append(one)
            with said.open("a") as file:
                print(json.dumps(one), file=file)
            print(one["seconds"], one["test"], "" if one["sound"] else "FAILS", flush=True)

        def add(row: Sequence[Any]) -> None:
            with output.open("a", newline="") as file:
                csv.writer(file).writerow(row)
            print(*row[4:], f"{row[0]}:{row[1]}: {row[2].strip()} -> {row[3].strip()}", flush=True)

        trying.each(trying.ran, tests.items(), add_test)
        work = []
        for mutant in mutants:
            if tuple(map(str, mutant[:4])) not in done:
                key = "{}:{}".format(*mutant.now or ("", 0))
                runs = {one["test"]: one["seconds"] for one in known if key in one["runs"]}
                if runs:
                    work.append((mutant, *chosen(runs, limit_s)))
                else:
                    add([*mutant[:4], "not run" if mutant.now else "gone", "", 0, 0])
        trying.each(trying.tried, work, add)
