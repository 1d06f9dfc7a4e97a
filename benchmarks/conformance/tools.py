"""The tools, and how the output of each becomes an answer."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conformance.truth import INCLUSIVE, OWN, PATH, SPAN, Answer, Truth

OURS, KERN, PROJ, PUSHPOP = "this project", "nvtx_kern_sum", "nvtx_gpu_proj_sum", "nvtx_pushpop_sum"
HTA = "HolisticTraceAnalysis"
TOOLS = (OURS, KERN, PROJ, PUSHPOP, HTA)
ROOT = Path(__file__).parents[2]
LIMIT_S = 300
EXACT = {"HTA_DISABLE_NS_ROUNDING": "1"}
"""With rounding, HolisticTraceAnalysis makes short events end before they begin."""


@dataclass(frozen=True)
class Ended:
    """What a program printed, and what it took."""

    status: int
    out: str
    error: str
    seconds: float
    peak_mb: float


LAUNCHER = """
import os, sys, time
begun = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), time.perf_counter() - begun, used.ru_maxrss, file=file)
"""
"""What starts a program, so that the peak of a program isn't at least that of this process."""


def measured(command: list[str], **more: str) -> Ended:
    """Run a program and its children, one after another, and see what they take."""
    with tempfile.NamedTemporaryFile("r") as took:
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, took.name, *command]
        ended = subprocess.run(
            launcher, capture_output=True, env=os.environ | more, cwd=ROOT, timeout=LIMIT_S
        )
        status, seconds, peak = took.read().split()
    out, error = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
    return Ended(int(status), out, error, float(seconds), int(peak) / 1000)


def refused(ended: Ended, trace: Path) -> Answer:
    """An answer of a tool that gave none."""
    lines = [line for line in (ended.out + ended.error).splitlines() if line.strip()]
    said = lines[-1].strip().replace(f"{trace.parent}/", "") if lines else f"status {ended.status}"
    return Answer(refused=said[:120])


def ask_ours(trace: Path, truth: Truth, _: Path | None) -> tuple[Answer, Ended]:
    """Of paths.csv, own_ms by path and busy_ms by last name; of the rest and (whole), none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "workflow_src.tables.capture_tables",
            "--capture",
            str(trace),
        ]
        ended = measured([*command, "--output", folder])
        if ended.status:
            return refused(ended, trace), ended
        paths, summary = (_csv((Path(folder) / f"{name}.csv").read_text()) for name in
                          ("paths", "summary"))  # fmt: skip
    whole = [row for row in paths if row["path"] == "(whole)"]
    own: Counter[str] = Counter()
    inclusive: Counter[str] = Counter()
    for row in paths:
        names = _names(row["path"])
        if row not in whole:
            own["/".join(names)] += round(float(row["own_ms"]) * 1e6)
            if names[-1] not in names[:-1]:
                inclusive[names[-1]] += round(float(row["busy_ms"]) * 1e6)
    nowhere = int(summary[-1]["unplaced_ns"])
    nowhere += sum(round(float(row["own_ms"]) * 1e6) for row in whole)
    return Answer({PATH: own, INCLUSIVE: inclusive}, nowhere), ended


def _names(path: str) -> list[str]:
    """The names of a path, whose own slashes and backslashes are escaped."""
    parts = re.findall(r"(?:\\.|[^/\\])+", path)
    return [re.sub(r"\\(.)", r"\1", part) for part in parts]


def ask_kern(trace: Path, truth: Truth, _: Path | None) -> tuple[Answer, Ended]:
    """The total time of all kernels of a range's name; rows without a name are in no range."""
    ended, rows = _stats(KERN, trace)
    if rows is None:
        return refused(ended, trace), ended
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["NVTX Range"]] += int(row["Total Time (ns)"])
    nowhere, program = sums.pop("", 0), _of_program(sums, truth)
    libraries = sum(ns for name, ns in sums.items() if name.partition(":")[0] in truth.libraries)
    return Answer({INCLUSIVE: program}, nowhere, libraries), ended


def ask_proj(trace: Path, truth: Truth, _: Path | None) -> tuple[Answer, Ended]:
    """The total projected time of a range's name."""
    ended, rows = _stats(PROJ, trace)
    if rows is None:
        return refused(ended, trace), ended
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["Range"]] += int(row["Total Proj Time (ns)"])
    return Answer({SPAN: _of_program(sums, truth)}), ended


def ask_pushpop(trace: Path, truth: Truth, _: Path | None) -> tuple[Answer, Ended]:
    """It reports times on the host, and none of a device."""
    ended, rows = _stats(PUSHPOP, trace)
    return (refused(ended, trace) if rows is None else Answer(host_only=True)), ended


def ask_hta(trace: Path, truth: Truth, folder: Path | None) -> tuple[Answer, Ended]:
    """The time of the kernels of each leaf annotation, and of those without one."""
    script = Path(__file__).with_name("ask_hta.py")
    ended = measured([sys.executable, str(script), str(trace)], PYTHONPATH=str(folder), **EXACT)
    if ended.status:
        return refused(ended, trace), ended
    sums = json.loads(ended.out.splitlines()[-1])
    if sums is None:
        return Answer(refused="the trace has no annotation on a GPU"), ended
    own = {name: round(us * 1000) for name, us in sums.items()}
    nowhere = sum(own.pop(name, 0) for name in ("", "-1", "nan"))
    return Answer({OWN: own}, nowhere), ended


def _stats(report: str, trace: Path) -> tuple[Ended, list[dict[str, str]] | None]:
    """The rows of a report of nsys stats, or None if it printed none."""
    command = ["nsys", "stats", "--report", report, "--format", "csv", "--output", "-"]
    ended = measured([*command, str(trace)])
    lines = ended.out.splitlines()
    headers = [n for n, line in enumerate(lines) if re.search(r"(^|,)(NVTX )?Range(,|$)", line)]
    if ended.status or "SKIPPED" in ended.out or "ERROR" in ended.out:
        return ended, None
    return ended, _csv("\n".join(lines[headers[0] :])) if headers else []


def _csv(text: str) -> list[dict[str, str]]:
    return [row for row in csv.DictReader(io.StringIO(text)) if any(row.values())]


def _of_program(sums: Counter[str], truth: Truth) -> dict[str, int]:
    """Sums without the prefixes of the program's domains, and without libraries' ranges."""
    found: Counter[str] = Counter()
    for name, ns in sums.items():
        domain, _, rest = name.partition(":")
        if domain not in truth.libraries:
            found[rest if domain in truth.domains else name] += ns
    return dict(found)


Adapter = Callable[[Path, Truth, Path | None], tuple[Answer, Ended]]
ADAPTERS: dict[str, Adapter] = {
    OURS: ask_ours,
    KERN: ask_kern,
    PROJ: ask_proj,
    PUSHPOP: ask_pushpop,
    HTA: ask_hta,
}
READS = {
    OURS: (".sqlite", ".json"),
    KERN: (".sqlite",),
    PROJ: (".sqlite",),
    PUSHPOP: (".sqlite",),
    HTA: (".json",),
}
