"""Measures a suite, its studies and the ceilings on all GPUs of a host at once.

With the commands of the rules (rules/measure.smk, rules/tables.smk, rules/studies.smk), in an order
that these don't know: all precisions of a size and context on one GPU, the fast cases first, and
launch-bound ones in up to MOST_PROCESSES processes where time is left. Several jobs of a GPU start
or end at once, on cores of their own; the device's lock lets one of them measure. Nothing is
measured twice, so that a later call goes on. Recorded steps are replayed, too
(benchmarks/replay.py). Results are under FOLDER/results, replays under FOLDER/replays.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from threading import Lock, Thread

import yaml

from benchmarks.suite_jobs import FAMILIES, MOST_PROCESSES, TAIL_S, Clock, Host, Job, Suite
from workflow_src.captures.export_case import exported_file
from workflow_src.common.case import PHASES
from workflow_src.common.devices import cuda_devices
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.measure.processes import merged
from workflow_src.plan.config import CONFIG
from workflow_src.plan.strict_yaml import read_config
from workflow_src.plan.suites import make_plan


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
