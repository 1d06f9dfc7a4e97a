"""Small synthetic tables, built case by case, with numbers that are easy to check by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.case import CASE_COLUMNS, PHASES

Kernel = tuple[str, str, str, int, int]
"""Path, name, family, calls per step, nanoseconds per step."""

Rows = Iterator[dict[str, Any]]

STEPS = 2
REPLAYED = ("replayed_median_ms", "replayed_p20_ms", "replayed_p80_ms")
TIMED = ("samples", "mean_ms", "median_ms", "std_ms", "p20_ms", "p80_ms", "peak_memory_mib")

FORWARD: list[Kernel] = [
    ("forward/block/attention/scores", "void gemm_long_name<float>", "gemm", 12, 4_000_000),
    ("forward/block/attention/scores", "scale_and_mask", "elementwise", 24, 500_000),
    ("forward/block/attention/softmax", "softmax_one", "softmax", 12, 2_000_000),
    ("forward/block/attention/softmax", "exp_kernel", "elementwise", 12, 1_000_000),
    ("forward/block/attention/values", "void gemm_long_name<float>", "gemm", 12, 2_000_000),
    ("forward/block/norm", "tiny", "normalization", 25, 50_000),
    ("forward", "copy_loose", "copy", 1, 450_000),
]
"""10 ms per step: gemm 60 %, softmax 20 %, elementwise 15 %, copy 4.5 %, normalization 0.5 %."""

BACKWARD: list[Kernel] = [
    ("forward_backward/forward/block", "void gemm_long_name<float>", "gemm", 24, 6_000_000),
    ("forward_backward/backward", "gemm_backward", "gemm", 48, 12_000_000),
    ("forward_backward/backward", "reduce", "reduction", 12, 2_000_000),
]

TRAIN: list[Kernel] = [
    ("train_step/forward/block", "void gemm_long_name<float>", "gemm", 24, 6_000_000),
    ("train_step/backward", "gemm_backward", "gemm", 48, 4_000_000),
    ("train_step/optimizer", "adamw", "optimizer", 4, 9_000_000),
    ("train_step", "loose", "fill", 1, 1_000_000),
]

WORK = {"scores": (40, 200), "values": (40, 200), "softmax": (8, 160), "head": (999, 999)}
"""FLOP ratio 0.1, bytes ratio 0.4; the time ratio of FORWARD is 0.5."""


@dataclass
class Sample:
    """One case's rows in all tables; every field can be set separately."""

    size: str = "small"
    context: int = 128
    precision: str = "fp32"
    attention: str = "naive"
    device: str = "cuda"
    status: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    median_ms: Mapping[str, float] = field(
        default_factory=lambda: {"forward": 12.0, "forward_backward": 36.0, "train_step": 50.0}
    )
    times_ms: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {
            "forward": (12.6, 12.0),
            "forward_backward": (37.0, 20.0),
            "train_step": (51.0, 20.0),
        }
    )
    """Host and busy time by phase."""
    kernels: Mapping[str, list[Kernel]] = field(
        default_factory=lambda: dict(zip(PHASES, (FORWARD, BACKWARD, TRAIN), strict=True))
    )
    outside_ns: int = 0
    captured: bool = True
    benchmarked: bool = True
    work: Mapping[str, tuple[int, int]] = field(default_factory=lambda: WORK)
    precision_ran: str = "fp32"
    environment: Mapping[str, Any] = field(default_factory=dict)
    replayed_ms: Mapping[str, float] = field(default_factory=dict)
    """By phase; without any, timings.csv is one of a run that replayed nothing."""
    execution: str = "eager"

    @property
    def case(self) -> str:
        tail = "" if self.attention == "naive" else f"-{self.attention}"
        tail += "-compiled" if self.execution == "compiled" else ""
        return f"{self.size}-ctx{self.context}-{self.precision}{tail}"

    @property
    def front(self) -> dict[str, Any]:
        values = (self.case, self.size, self.context, 4, self.precision, self.attention)
        every = (*values, "adamw", self.device, self.execution)
        return dict(zip(CASE_COLUMNS, every, strict=True))

    @property
    def ran(self) -> list[str]:
        """The phases that were captured."""
        return [phase for phase in PHASES if self.captured and phase not in self.status]

    def timings(self) -> Rows:
        for phase in PHASES if self.benchmarked else ():
            status, reason = self.status.get(phase, ("ok", ""))
            row = {"phase": phase, "status": status, "reason": reason} | dict.fromkeys(TIMED)
            if status == "ok":
                ms = self.median_ms[phase]
                times = (10, ms, ms, 0.1, 0.95 * ms, 1.1 * ms, 1000.0)
                row |= dict(zip(TIMED, times, strict=True))
            if phase in self.replayed_ms:
                row |= {"replay_status": "ok", "replay_reason": ""}
                row |= dict.fromkeys(REPLAYED, self.replayed_ms[phase])
            yield row

    def ranges(self) -> Rows:
        """Rows of ranges.csv: two steps per phase, 0.1 ms below and above the host time."""
        for phase in self.ran:
            host, busy = self.times_ms[phase]
            for step, ms in enumerate((host - 0.1, host + 0.1)):
                row = {"phase": phase, "path": phase, "step": step, "instances": 1}
                yield row | {"host_ms": ms, "busy_ms": busy}

    def kernel_rows(self) -> Rows:
        on_cpu = self.device == "cpu"
        placed = [
            (phase, STEPS, each) for phase in self.ran for each in self.kernels.get(phase, [])
        ]
        if self.outside_ns and self.captured:
            placed.append(("", 0, ("", "outside_copy", "copy", 1, self.outside_ns // STEPS)))
        for phase, steps, (path, name, family, calls, ns) in placed:
            kind = "operator" if on_cpu else "copy" if family == "copy" else "kernel"
            yield {
                **{"phase": phase, "path": path, "name": name, "short_name": name.split("<")[0]},
                **{"kind": kind, "family": family, "steps": steps, "calls": calls * STEPS},
                "precision_ran": self.precision_ran if family == "gemm" else "",
                **{"calls_per_step": calls, "busy_ns": ns * STEPS, "busy_ms_per_step": ns / 1e6},
            }

    def captures(self) -> Rows:
        rows = [*self.kernel_rows()]
        total = sum(row["busy_ns"] for row in rows)
        kernels = sum(row["busy_ns"] for row in rows if row["kind"] == "kernel")
        outside = sum(row["busy_ns"] for row in rows if not row["phase"])
        by_nsys = self.device != "cpu"
        if self.captured:
            yield {
                **{"profiler": "nsys" if by_nsys else "torch", "total_ns": total},
                **{"attributed_ns": total - outside, "outside_ns": outside},
                "outside_share": outside / total if total else 0.0,
                **{"stats_total_ns": kernels if by_nsys else None},
                **{"activities": len(rows), "family_coverage": 1.0},
            }

    def work_rows(self) -> Rows:
        for component, (flops, moved) in self.work.items():
            yield {"component": component, "flops": flops, "bytes": moved}

    def environments(self) -> Rows:
        row = {"cpu": "Some CPU", "gpu": "" if self.device == "cpu" else "Some GPU"}
        row |= {"torch": "2.13.0", "python": "3.12.1", "profiler_version": "2025.1"}
        row |= {"node": "secret-host", "device_name": "GPU-secret", "throttled": ""}
        yield row | dict(self.environment)


TABLES = {
    "timings": Sample.timings,
    "ranges": Sample.ranges,
    "kernels": Sample.kernel_rows,
    "captures": Sample.captures,
    "work": Sample.work_rows,
    "environments": Sample.environments,
}


def tables(*samples: Sample) -> dict[str, pd.DataFrame]:
    made = {}
    for name, rows in TABLES.items():
        found = [sample.front | row for sample in samples for row in rows(sample)]
        made[name] = pd.DataFrame(found, columns=None if found else [*CASE_COLUMNS, "phase"])
    return made


def write_tables(folder: Path, *samples: Sample) -> Path:
    """Write all tables of `samples` as CSV into `folder`; gives it back."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables(*samples).items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def grid(sizes: int = 5, contexts: int = 4, precisions: int = 3) -> list[Sample]:
    """A large made-up suite: times grow with size and context, the softmax share with context."""
    return [
        _grown(size, context, precision, s, 2**c, p)
        for p, precision in enumerate(("fp32", "tf32", "bf16")[:precisions], 1)
        for s, size in enumerate(("small", "medium", "large", "xl", "2.7B")[:sizes], 1)
        for c, context in enumerate((128, 256, 512, 1024)[:contexts])
    ]


def _grown(size: str, context: int, precision: str, s: int, c: int, p: int) -> Sample:
    def grow(kernel: Kernel) -> Kernel:
        path, name, family, calls, ns = kernel
        quadratic = c if family in ("softmax", "elementwise") else 1
        return path, name, family, calls * s, ns * s * s * c * quadratic // p

    phases = dict(zip(PHASES, (FORWARD, BACKWARD, TRAIN), strict=True))
    kernels = {phase: [grow(kernel) for kernel in rows] for phase, rows in phases.items()}
    busy = {phase: sum(row[4] for row in rows) / 1e6 for phase, rows in kernels.items()}
    return Sample(
        size=size,
        context=context,
        precision=precision,
        kernels=kernels,
        median_ms={phase: ms + 3.0 for phase, ms in busy.items()},
        times_ms={phase: (ms + 3.5, ms) for phase, ms in busy.items()},
        precision_ran=precision,
    )
