"""Measure what each fault of a plan costs, and record the programs with their faults.

The key is one packed file that is never printed; plain.csv tells the time of a step without a
profiler, as a trainer would log it.
"""

import gzip
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import pandas as pd
import torch

from benchmarks.blind.faults import FAULTS
from benchmarks.blind.plan import NO_FAULT, Planned, planned
from benchmarks.blind.program import Program, clean
from benchmarks.planted.loop import DEVICE
from benchmarks.planted.record import wait

KEY, PLAIN, FAILED = "key.csv.gz", "plain.csv", "failed.log"
BLOCKS, WARM_UP, RECORDED = 5, 5, 5
BLOCK_S = 0.12
"""How long a block of steps is to take."""

ON_CUDA = DEVICE.type == "cuda"
NSYS = (
    "nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none",
    "--capture-range=cudaProfilerApi", "--capture-range-end=repeat", "--force-overwrite=true",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Milliseconds: a step without the fault and with it, and medians of their differences."""

    clean_ms: float
    plain_ms: float
    cost_ms: float
    cost_least_ms: float
    cost_most_ms: float


def made(plan: Planned, step_ms: float) -> Program:
    """The program with its fault; step_ms: of the one without, which faults of the host go by."""
    program = clean(plan.kind, plan.pace, plan.style)
    if plan.fault != NO_FAULT:
        FAULTS[plan.fault](program, plan.place, plan.cost_share * step_ms)
    return program


@contextmanager
def running(program: Program) -> Iterator[Program]:
    """What a program runs beside its loop runs meanwhile."""
    for begin in program.begins:
        begin()
    try:
        yield program
    finally:
        for end in program.ends:
            end()


def run(program: Program, steps: int) -> None:
    """Some steps between two waits."""
    with running(program):
        wait()
        for number in range(steps):
            program.step(number)
        wait()


def block_ms(program: Program, steps: int) -> float:
    """Milliseconds a step, from the end of the step before them to that of the last.

    On the device, so that what it hides of the host is hidden in the first of them, too.
    """
    with running(program):
        program.step(0)
        until = _clock()
        for number in range(steps):
            program.step(number)
        return until() / steps


def _clock() -> Callable[[], float]:
    """Milliseconds from when the device gets here to when it gets to the call of what is given."""
    if not ON_CUDA:
        began = time.perf_counter()
        return lambda: 1000 * (time.perf_counter() - began)
    here, there = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    here.record()

    def until() -> float:
        there.record()
        wait()
        return float(here.elapsed_time(there))

    return until


def measured(plan: Planned) -> Cost:
    """What a fault costs, by blocks without it and with it in turn, in this process."""
    without = clean(plan.kind, plan.pace, plan.style)
    run(without, WARM_UP)
    step_ms = block_ms(without, 3)
    with_fault = made(plan, step_ms)
    run(with_fault, WARM_UP)
    # A multiple of 3, as some faults come every third step.
    steps = 3 * max(1, round(1000 * BLOCK_S / step_ms / 3)) if ON_CUDA else 3
    pairs = [(block_ms(without, steps), block_ms(with_fault, steps)) for _ in range(BLOCKS)]
    costs = [b - a for a, b in pairs]
    clean_ms, plain_ms = (median(times) for times in zip(*pairs, strict=True))
    return Cost(clean_ms, plain_ms, median(costs), min(costs), max(costs))


def trace(program: Program, path: Path) -> None:
    """Record some steps by torch.profiler."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    kinds += [torch.profiler.ProfilerActivity.CUDA] if ON_CUDA else []
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=RECORDED, repeat=1)
    with running(program), torch.profiler.profile(activities=kinds, schedule=schedule) as profiler:
        for number in range(RECORDED + 1):
            program.step(number)
            # Not after the last: a further call would begin a step that holds nothing.
            if number < RECORDED:
                profiler.step()
        wait()
    profiler.export_chrome_trace(str(path))


def windows(programs: Sequence[tuple[Planned, float]]) -> None:
    """One capture window of nsys for each program, in their order."""
    for plan, step_ms in programs:
        program = made(plan, step_ms)
        run(program, WARM_UP)
        torch.cuda.cudart().cudaProfilerStart()
        run(program, RECORDED)
        torch.cuda.cudart().cudaProfilerStop()
        _forget()


def by_nsys(key: Path, count: int, output: Path) -> None:
    """Record by nsys, in a process of its own that reads the key, and export each window.

    If that process ends early, the windows before that are kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "window"
        again = [sys.executable, "-m", "benchmarks.blind.cli", "windows", str(key)]
        subprocess.run(
            [*NSYS, f"--output={report}", *again], check=False, stdout=subprocess.DEVNULL
        )
        for number, plan in enumerate(_of_nsys(key), start=1):
            one = report.with_name(f"window.{number}.nsys-rep" if count > 1 else "window.nsys-rep")
            if not one.exists():
                break
            export = report.with_name(f"{plan.name}.sqlite")
            export_to = ["nsys", "export", "--type=sqlite", f"--output={export}", str(one)]
            subprocess.run(export_to, check=True, stdout=subprocess.DEVNULL)
            _pack(export, output / f"{export.name}.gz")


def record(output: Path, seed: int, count: int, tiny: bool) -> None:
    """Measure and record the programs of a seed; nothing of the key is printed.

    A program that fails is left out, with its error in failed.log: the others go on.
    """
    rows = []
    for plan in planned(seed, count, tiny):
        try:
            rows.append({"seed": seed} | _recorded(plan, output))
        except Exception:
            with (output / FAILED).open("a") as log:
                log.write(f"{plan}\n{traceback.format_exc()}\n")
        _forget()
        print(plan.name, "done", flush=True)
        table = pd.DataFrame(rows)
        table.to_csv(output / KEY, index=False)
        if rows:
            table[["name", "plain_ms"]].to_csv(output / PLAIN, index=False)
    if of_nsys := sum(row["profiler"] == "nsys" for row in rows):
        by_nsys(output / KEY, of_nsys, output)


def _recorded(plan: Planned, output: Path) -> dict[str, object]:
    """The row of a program in the key; torch.profiler records it here, nsys does after all."""
    cost = measured(plan)
    by = plan.profiler if ON_CUDA and shutil.which("nsys") else "torch"
    if by == "torch":
        program = made(plan, cost.clean_ms)
        run(program, WARM_UP)
        _traced(program, output / f"{plan.name}.json.gz")
    name = torch.cuda.get_device_name() if ON_CUDA else "CPU"
    return {**asdict(plan), "profiler": by, **asdict(cost), "device": name}


def plans_of(key: Path) -> list[tuple[Planned, Cost, str]]:
    """The programs of a key, what their faults cost, and the profiler."""
    table = pd.read_csv(key, keep_default_na=False)
    names, costs = list(Planned.__annotations__), list(Cost.__annotations__)
    rows = table.to_dict("records")
    for row in rows:
        row["place"] = tuple(
            int(each) for each in str(row["place"]).strip("(),").split(",") if each
        )
    return [
        (
            Planned(**{name: row[name] for name in names}),
            Cost(**{name: row[name] for name in costs}),
            str(row["profiler"]),
        )
        for row in rows
    ]


def _of_nsys(key: Path) -> list[Planned]:
    return [plan for plan, _, by in plans_of(key) if by == "nsys"]


def record_windows(key: Path) -> None:
    """The windows of those programs of a key that nsys records."""
    windows([(plan, cost.clean_ms) for plan, cost, by in plans_of(key) if by == "nsys"])


def _traced(program: Program, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        trace(program, plain)
        _pack(plain, path)


def _pack(plain: Path, packed: Path) -> None:
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)


def _forget() -> None:
    if ON_CUDA:
        torch.cuda.empty_cache()
