"""The jobs of a suite, and the cores of a host on which its commands run (see measure_suite.py)."""

import csv
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflow_src.common.case import PHASES, Case
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.dag.dag import Dag
from workflow_src.model.flops import parameter_count, total_forward_flops
from workflow_src.plan.write_plan import as_csv

MOST_PROCESSES = 3
FAMILIES = "workflow_src/placing/families.csv"
JOBS, CORES = 3, 4
"""Jobs of a GPU at once, one of which measures, and the cores of each."""

FLOP_NS = {"fp32": 4.4e-3, "tf32": 1.8e-3, "bf16": 1.3e-3, "fp16": 1.3e-3}
"""How long a benchmark of one process takes per FLOP of a forward pass, on an H100."""

IMPORTANT = (("small", "medium", "large"), (128, 256, 512))
TAIL_S = 45
"""Before the end, nothing is measured any more: what was has to be exported and tabulated."""


@dataclass(frozen=True)
class Job:
    """A command that makes `output`; of `holds_s` seconds it holds the device."""

    output: Path
    command: Sequence[str]
    holds_s: float
    case: str = ""


@dataclass
class Clock:
    """Seconds since the start, and when nothing begins or runs any more."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def left(self) -> float:
        """Seconds until the end."""
        return self.seconds - self.now()

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"{self.now():6.1f} s  {text}", flush=True)


class Host:
    """Runs commands on cores of this host, until its time is over."""

    def __init__(self, clock: Clock, gpus: int, logs: Path) -> None:
        """Divide the cores: JOBS times CORES for each GPU, as far as there are, and the rest."""
        logs.mkdir(parents=True, exist_ok=True)
        cores = sorted(os.sched_getaffinity(0))
        each = max(1, len(cores) // gpus)
        size = min(CORES, max(1, each // (JOBS + 1)))
        parts = [cores[n * each : (n + 1) * each] or cores for n in range(gpus)]
        self.clock, self.logs = clock, logs
        self.measuring = [
            [part[n * size : (n + 1) * size] or part for n in range(JOBS)] for part in parts
        ]
        self.spare = [core for part in parts for core in part[JOBS * size :]] or cores

    def run(self, job: Job, cores: Sequence[int], ends_s: float, **environment: str) -> bool:
        """Whether `job` made its output, by `ends_s` seconds before the end."""
        if job.output.exists():
            return True
        job.output.parent.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{job.output.parent.name}.{job.output.name}.log"
        began = self.clock.now()
        command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-m", *job.command]
        with log.open("ab") as file:
            process = subprocess.Popen(
                [*command, "--output", str(job.output)],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | environment | {"OMP_NUM_THREADS": "1"},
            )
            try:
                status = process.wait(max(1, self.clock.left() - ends_s))
            except subprocess.TimeoutExpired:
                process.terminate()
                status = process.wait()
        what = f"{job.command[0].removeprefix('workflow_src.')} {job.output.name}"
        ended = "" if status == 0 else f": ended with status {status}"
        self.clock.say(f"{what} took {self.clock.now() - began:.1f} s{ended}")
        return status == 0


class Suite:
    """The jobs of a plan, and what has been made of them."""

    def __init__(self, dag: Dag, folder: Path) -> None:
        """`folder` holds the results."""
        self.plan = dag.plan
        self.dag, self.folder = dag, folder
        self.results = folder / dag.results
        self.cases = {case.case: case for case in dag.plan.cases if isinstance(case, Case)}

    def seconds(self, case: Case) -> float:
        """About how long a benchmark of a case holds an H100."""
        return 1.2 + 0.22 * case.layers + self._flop_seconds(case)

    def _flop_seconds(self, case: Case) -> float:
        """The part of it that grows with FLOPs; less where a training step won't fit in 80 GB."""
        seconds = total_forward_flops(case) * FLOP_NS[case.precision] * 1e-9
        matrices = case.layers * case.batch * case.heads * case.context**2
        too_large = 12 * matrices + 16 * parameter_count(case) > 78e9
        return min(60, seconds * (0.4 if too_large else 1))

    def process(self, case: str, number: int) -> Job:
        """The benchmark of a case in its process `number`, as of benchmark_processes.py."""
        row = self.plan.benchmark_row(case) | {"processes": 1, "process": number}
        command = ["workflow_src.measure.benchmark", "--case", json.dumps(row)]
        output = self.folder / "processes" / f"{case}.{number}.json"
        return Job(output, command, self.seconds(self.cases[case]), case)

    def capture(self, case: str) -> Job:
        """The capture of a case."""
        row = json.dumps(self.plan.capture_row(case))
        output = self.results / "capture" / f"{case}{self.plan.capture_suffix}"
        of = self.cases[case]
        holds_s = 3 + 0.1 * of.layers + 0.3 * self._flop_seconds(of)
        return Job(output, ["workflow_src.measure.capture", "--case", row], holds_s, case)

    def others(self) -> list[Job]:
        """The points of the studies, and the ceilings."""
        jobs = []
        for study in self.dag.studies.chosen:
            for name, point in self.dag.studies.points(study).items():
                command = [f"workflow_src.studies.{study}.measure", "--point", json.dumps(point)]
                output = self.results / "studies" / study / f"{name}.json"
                jobs.append(Job(output, command, 45))
        ceilings = json.dumps(self.plan.ceilings_point())
        command = ["workflow_src.measure.ceilings", "--point", ceilings]
        return [*jobs, Job(self.results / "ceilings.json", command, 45)]

    def shares(self, gpus: int) -> list[list[Job]]:
        """The jobs of each GPU, in order: captures of the important cases run beside the pairs.

        Groups go to the GPU with least to do, the longest first.
        """
        groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for case in self.cases.values():
            groups[case.size, case.context].append(case.case)
        jobs = [[job for case in each for job in self._both(case)] for each in groups.values()]
        others = self.others()
        shares = [others[number::gpus] for number in range(gpus)]
        for group in sorted(jobs, key=_holds_s, reverse=True):
            min(shares, key=_holds_s).extend(group)
        return [sorted(share, key=self._order) for share in shares]

    def _both(self, case: str) -> list[Job]:
        return [self.process(case, 0), self.capture(case)]

    def _order(self, job: Job) -> tuple[float, float]:
        if not job.case:
            return (0 if "studies" in job.output.parts else 2.5), 0
        case = self.cases[job.case]
        later = not (case.size in IMPORTANT[0] and case.context in IMPORTANT[1])
        benchmark = job.output.parent.name == "processes"
        group = [each for each in self.cases.values() if _same_group(each, case)]
        return 1 + (2 if later else int(benchmark)), sum(map(self.seconds, group))

    def measured(self, case: str) -> list[Path]:
        """The results of a case's processes that are there."""
        paths = (self.process(case, number).output for number in range(MOST_PROCESSES))
        return [path for path in paths if path.exists()]

    def tabulated(self, case: str) -> int:
        """How many processes the tables of a case are made from; 0 without tables."""
        path = self.results / "tables" / case / "timings.csv"
        if not path.exists():
            return 0
        with path.open(encoding="utf-8") as file:
            return max(int(float(row["processes"] or 1)) for row in csv.DictReader(file))

    def launch_bound(self, case: str) -> bool:
        """Whether a case's forward pass is, by device time per kernel; False before it is known."""
        path = self.results / "tables" / case / "kernels.csv"
        if not path.exists():
            return False
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["phase"] == PHASES[0]]
        calls, busy_ns = (sum(int(row[name]) for row in rows) for name in ("calls", "busy_ns"))
        return calls > 0 and busy_ns < calls * LAUNCH_BOUND_BELOW_NS

    def write_plan(self) -> None:
        """Write plan.csv, each case with the number of its processes."""
        rows = self.plan.rows()
        for row in rows:
            row["processes"] = max(1, self.tabulated(row["case"]))
        (self.results / "plan.csv").write_text(as_csv(rows), encoding="utf-8")


def _holds_s(jobs: Iterable[Job]) -> float:
    return sum(job.holds_s for job in jobs)


def _same_group(one: Case, other: Case) -> bool:
    return (one.size, one.context) == (other.size, other.context)
