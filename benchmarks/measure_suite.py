"""Measures a suite, its studies and the ceilings on all GPUs of a host at once.

With the commands of the rules (rules/measure.smk, rules/tables.smk, rules/studies.smk), in an order
that these don't know: all precisions of a size and context on one GPU, the fast cases first, and
launch-bound ones in up to MOST_PROCESSES processes where time is left. Several jobs of a GPU start
or end at once, on cores of their own; the device's lock lets one of them measure. Nothing is
measured twice, so that a later call goes on. Recorded steps are replayed, too
(benchmarks/replay.py). Results are under FOLDER/results, replays under FOLDER/replays.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import yaml

from workflow_src.captures.export_case import exported_file
from workflow_src.common.case import PHASES, Case
from workflow_src.common.devices import cuda_devices
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.measure.processes import merged
from workflow_src.model.flops import parameter_count, total_forward_flops
from workflow_src.plan.config import CONFIG, read_config
from workflow_src.plan.suites import make_plan
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


class Tables:
    """Makes the tables and the replays of cases beside what is measured, on the spare cores."""

    def __init__(self, suite: Suite, host: Host) -> None:
        """Use as many threads as there are spare cores."""
        self.suite, self.host = suite, host
        self.pool = ThreadPoolExecutor(len(host.spare))
        self.locks = {case: Lock() for case in suite.cases}
        self.added: list[Future[None]] = []

    def add(self, case: str) -> None:
        """Make what can be made of a case by now."""
        self.added.append(self.pool.submit(self._make, case))

    def busy(self) -> bool:
        """Whether something is being made."""
        return not all(each.done() for each in self.added)

    def _make(self, case: str) -> None:
        suite = self.suite
        capture, export = suite.capture(case).output, suite.results / "export" / case
        with self.locks[case]:
            command = ["workflow_src.captures.export_case", "--capture", str(capture)]
            if not capture.exists() or not self._run(Job(export, command, 0)):
                return
            measured = suite.measured(case)
            if len(measured) > suite.tabulated(case):
                self._tabulate(case, measured)
            for phase in PHASES:
                self._replay(case, phase)

    def _tabulate(self, case: str, measured: Sequence[Path]) -> None:
        """Make a case's tables, in the place of those from fewer processes."""
        suite, name = self.suite, f"{case}.{len(measured)}"
        results = [json.loads(path.read_text(encoding="utf-8")) for path in measured]
        whole = suite.folder / "merged" / f"{name}.json"
        whole.parent.mkdir(exist_ok=True)
        merge = merged(results) if len(results) > 1 else results[0]
        whole.write_text(json.dumps(merge), encoding="utf-8")
        export, new = suite.results / "export" / case, suite.folder / "tabulated" / name
        command = ["workflow_src.tables.case_tables", "--export", str(export)]
        command += ["--benchmark", str(whole), "--families", FAMILIES]
        if self._run(Job(new, command, 0)):
            self._put(new, suite.results / "tables" / case)
            self._put(whole, suite.results / "benchmark" / f"{case}.json")

    def _put(self, new: Path, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            place.rename(new.with_name(f"{new.name}.before"))
        new.rename(place)

    def _replay(self, case: str, phase: str) -> None:
        output = self.suite.folder / "replays" / f"{case}.{phase}.csv"
        trace = str(exported_file(self.suite.results / "export" / case))
        self._run(Job(output, ["benchmarks.replay", "--step", phase, trace], 0))

    def _run(self, job: Job) -> bool:
        return self.host.clock.left() > 20 and self.host.run(job, self.host.spare, 15)

    def wait(self) -> None:
        """Wait until all is made."""
        self.pool.shutdown(wait=True)


class Gpu:
    """A GPU with its jobs: JOBS threads take the next one each."""

    def __init__(self, uuid: str, number: int, jobs: list[Job], tables: Tables) -> None:
        """`number` is the GPU's place, by which it has cores."""
        self.uuid, self.number, self.jobs, self.tables = uuid, number, jobs, tables
        self.cases = list(dict.fromkeys(job.case for job in jobs if job.case))
        self.lock = Lock()
        self.free_s, self.begun = 0.0, set[Path]()

    def threads(self) -> list[Thread]:
        """The threads, which end when there is nothing left to do or no time."""
        cores = self.tables.host.measuring[self.number]
        return [Thread(target=self._work, args=(n, own)) for n, own in enumerate(cores)]

    def _work(self, worker: int, cores: Sequence[int]) -> None:
        host = self.tables.host
        folder = self.tables.suite.folder / f"t{self.number}{worker}"
        folder.mkdir(parents=True, exist_ok=True)
        device = {"CUDA_VISIBLE_DEVICES": self.uuid} if self.uuid else {}
        while (job := self._next()) or self.tables.busy():
            if job is None:
                time.sleep(1)
                continue
            host.run(job, cores, TAIL_S - 10, TMPDIR=str(folder), **device)
            if job.case:
                self.tables.add(job.case)

    def _next(self) -> Job | None:
        with self.lock:
            clock = self.tables.host.clock
            for job in chain(self.jobs, self._more()):
                free_s = max(clock.now() + 5, self.free_s) + job.holds_s
                if job.output in self.begun or free_s > clock.seconds - TAIL_S:
                    continue
                self.begun.add(job.output)
                if not job.output.exists():
                    self.free_s = free_s
                    return job
            return None

    def _more(self) -> Iterator[Job]:
        """Further processes of launch-bound cases, the fast ones first."""
        suite = self.tables.suite
        bound = filter(suite.launch_bound, self.cases)
        fast = sorted(bound, key=lambda case: suite.seconds(suite.cases[case]))
        for case in fast:
            yield from (suite.process(case, number) for number in range(1, MOST_PROCESSES))


def dag_from(settings: Iterable[str], folder: Path) -> Dag:
    """The DAG that Snakemake makes with --config `settings`."""
    changed = {key: yaml.safe_load(value) for key, _, value in (s.partition("=") for s in settings)}
    return dag_of(make_plan(dict(read_config(CONFIG)) | changed, folder / "results"))


def main() -> None:
    """Measure what time allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--fake-gpus", type=int, default=0, help="try it without a GPU")
    given = parser.parse_args()
    clock = Clock(given.seconds)
    suite = Suite(dag_from(given.config, given.folder), given.folder)
    uuids = cuda_devices() or [""] * given.fake_gpus
    host = Host(clock, len(uuids), given.folder / "logs")
    tables = Tables(suite, host)
    shares = suite.shares(len(uuids))
    gpus = [
        Gpu(uuid, n, share, tables)
        for n, (uuid, share) in enumerate(zip(uuids, shares, strict=True))
    ]
    clock.say(
        f"{len(suite.cases)} cases on {len(gpus)} GPUs, which these are to hold for "
        f"{[round(sum(job.holds_s for job in share)) for share in shares]} s; cores of jobs "
        f"{host.measuring}, of tables {host.spare}"
    )
    for case in suite.cases:
        tables.add(case)
    threads = [thread for gpu in gpus for thread in gpu.threads()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.say("measured")
    tables.wait()
    suite.write_plan()
    made = sum((suite.results / "tables" / case).is_dir() for case in suite.cases)
    clock.say(f"{made} of {len(suite.cases)} cases have tables")


if __name__ == "__main__":
    main()
