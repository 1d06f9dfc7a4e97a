"""The plan: every case of a suite, with `auto` resolved once and recorded in plan.csv."""

import csv
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

from workflow_src.common.case import (
    ATTENTIONS,
    BY_NAME,
    NEEDS_CUDA,
    VARIED,
    AnyCase,
    Case,
    names_code,
)
from workflow_src.common.ceilings import SIZES
from workflow_src.common.devices import cuda_devices
from workflow_src.common.errors import ConfigError, one_of, remake
from workflow_src.common.precisions import PRECISIONS
from workflow_src.plan.brought import (
    attention_code,
    brought_cases,
    workload_code,
)
from workflow_src.plan.case_ids import case_id
from workflow_src.plan.config import check

BENCHMARK_KEYS = ("warmup_steps", "steps", "processes")
CAPTURE_KEYS = ("profiler", "warmup_steps", "capture_steps", "os_tracing")


RESOLVED = {"device": "cpu|cuda", "profiler": "nsys|torch", "cpu_threads": "([0-9]{1,9})?"}
"""Settings that are chosen once per tag where the configuration leaves them open, as patterns."""

MOST_BLOCKS_IN_CAPTURE = 128
"""Maximum of blocks times steps in a capture: on an H200 (nsys 2025.3, three phases, naive
attention, bf16) 144 of them made a report of 5.4 MB."""


@dataclass(frozen=True)
class Plan:
    """All cases of one run, and how they are measured."""

    tag: str
    device: str
    profiler: str
    cases: tuple[AnyCase, ...]
    settings: Mapping[str, Any]

    @property
    def case_ids(self) -> list[str]:
        """The ids of the cases, in the order of the plan."""
        return [case.case for case in self.cases]

    @property
    def capture_suffix(self) -> str:
        """The suffix of capture files from the resolved profiler."""
        return ".nsys-rep" if self.profiler == "nsys" else ".kineto.json.gz"

    def _row(self, case_id: str, keys: tuple[str, ...]) -> dict[str, Any]:
        if case_id not in self.case_ids:
            raise ConfigError(one_of(f"case of {self.tag}", case_id, self.case_ids))
        case = self.cases[self.case_ids.index(case_id)]
        row = case.as_dict() | {key: self.settings[key] for key in keys}
        if isinstance(case, Case) and case.brought_code:
            row["attention_code"] = self.settings["attention_codes"][case.attention]
        return row | self.threads

    @property
    def threads(self) -> dict[str, int]:
        """`cpu_threads`, on which a measurement on a CPU depends; empty for another device."""
        return {"cpu_threads": self.settings["cpu_threads"]} if self.device == "cpu" else {}

    def benchmark_row(self, case_id: str) -> dict[str, Any]:
        """Everything that the benchmark of one case depends on, for a rule's params.

        Raises ConfigError if the plan has no such case.
        """
        energy = {"energy_seconds": seconds} if (seconds := self.settings["energy_seconds"]) else {}
        return self._row(case_id, BENCHMARK_KEYS) | energy

    def capture_row(self, case_id: str) -> dict[str, Any]:
        """Everything that the capture of one case depends on, for a rule's params.

        Deep models are captured for fewer steps to keep captures small. Raises ConfigError if the
        plan has no such case.
        """
        row = self._row(case_id, CAPTURE_KEYS)
        most = max(1, MOST_BLOCKS_IN_CAPTURE // int(row.get("layers", 1)))
        return row | {"capture_steps": min(row["capture_steps"], most)}

    def ceilings_point(self) -> dict[str, Any]:
        """Everything that the measurement of this run's ceilings depends on, for a rule's params.

        No limit of memory: it stands for a smaller card, which is not slower.
        """
        there = {case.precision for case in self.cases}
        precisions = [name for name in PRECISIONS if name in there]
        sizes = {"sizes": SIZES[self.device], "precisions": precisions}
        return {"device": self.device} | sizes | self.threads

    def rows(self) -> list[dict[str, Any]]:
        """The complete plan, one row per case."""
        return [
            asdict(case) | self.benchmark_row(case.case) | self.capture_row(case.case)
            for case in self.cases
        ]


def make_cases(config: Mapping[str, Any], device: str) -> tuple[AnyCase, ...]:
    """Every combination of the suite's axes, grouped by size. Takes a checked configuration."""
    if config["workload"]:
        return brought_cases(config, device)
    suite = config["suites"][config["suite"]]
    combinations = product(suite["sizes"], *(suite[BY_NAME[name].plural] for name in VARIED))
    common = {key: config[key] for key in ("vocabulary", "seed", "memory_limit_gib")}
    cases = []
    for size, *values in combinations:
        axes = dict(zip(VARIED, values, strict=True))
        fields = common | config["sizes"][size] | axes
        cases.append(Case(case=case_id(size, axes), size=size, device=device, **fields))
    ids = [case.case for case in cases]
    for twice in (name for name in ids if ids.count(name) > 1):
        raise ConfigError(
            f"suites.{config['suite']}.attentions: two cases would be called {twice!r}; rename a "
            "file or a function"
        )
    return tuple(cases)


def recorded(path: Path) -> dict[str, str]:
    """What an earlier plan of this tag resolved to, by setting; empty without one.

    Raises ConfigError for a file that isn't a plan.
    """
    if not os.path.lexists(path):
        return {}
    reason, rows = "", list[dict[str, str]]()
    try:
        text = path.read_text(encoding="utf-8")
        rows = list(csv.DictReader(StringIO(text, newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = str(error)
    found = {key: rows[0].get(key) or "" for key in RESOLVED} if rows else {}
    wrong = {key: value for key, value in found.items() if not re.fullmatch(RESOLVED[key], value)}
    # DictReader puts None for a cell too few, and under None what is too many.
    if not rows or not text.endswith("\n") or any(None in [*row, *row.values()] for row in rows):
        reason = reason or "a row is missing or cut off"
    elif wrong:
        reason = ", ".join(f"{key}: {value!r}" for key, value in wrong.items())
    if reason:
        # Every snakemake call reads it, so that -R alone would end here too.
        raise ConfigError(f"{path} is not a plan ({reason}); delete it and {remake(path)}")
    return {key: value for key, value in found.items() if value}


def resolve(config: Mapping[str, Any], earlier: Mapping[str, str]) -> tuple[str, str]:
    """The device and the profiler to use, with `auto` resolved.

    An earlier plan's choice is kept, so that results copied from another machine are assembled
    here without being measured again. Raises ConfigError if the requested device or profiler is
    missing here and no earlier plan resolved to it.
    """
    resolved = {
        key: earlier.get(key, config[key]) if config[key] == "auto" else config[key]
        for key in ("device", "profiler")
    }
    device, profiler = resolved["device"], resolved["profiler"]
    if config["cluster"]:
        for key in (key for key, value in resolved.items() if value == "auto"):
            raise ConfigError(
                f"{key}: 'auto' can't be resolved on this machine where cluster is true; "
                f"allowed: {RESOLVED[key].replace('|', ', ')}"
            )
        return device, profiler
    if device == "auto":
        device = "cuda" if cuda_devices() else "cpu"
    elif device == "cuda" and earlier.get("device") != "cuda" and not cuda_devices():
        raise ConfigError("device: 'cuda' asked for, but no CUDA device is here; allowed: cpu")
    has_nsys = shutil.which("nsys") is not None
    if profiler == "auto":
        profiler = "nsys" if device == "cuda" and has_nsys else "torch"
    elif profiler == "nsys" and earlier.get("profiler") != "nsys" and not has_nsys:
        raise ConfigError(
            "profiler: 'nsys' asked for, but no nsys is on the PATH; install Nsight Systems, or "
            "set profiler to torch"
        )
    return device, profiler


def resolve_threads(config: Mapping[str, Any], earlier: Mapping[str, str]) -> int | None:
    """Threads of a measurement on a CPU, `config` having its device resolved; else None.

    Raises ConfigError on a cluster, where the cores of this machine say nothing about the others.
    """
    if config["device"] != "cpu":
        return None
    if threads := config["cpu_threads"]:
        return int(threads)
    if earlier.get("device") == "cpu" and earlier.get("cpu_threads"):
        return int(earlier["cpu_threads"])
    if config["cluster"]:
        raise ConfigError(
            "cpu_threads: None can't be resolved on this machine where cluster is true; "
            "allowed: a number of threads"
        )
    return len(os.sched_getaffinity(0))


def make_plan(raw: Mapping[str, Any], results: Path = Path("results")) -> Plan:
    """The plan of a configuration as read from YAML. Raises ConfigError on bad input."""
    config = check(raw)
    earlier = recorded(results / config["tag"] / "plan.csv")
    device, profiler = resolve(config, earlier)
    suite = config["suites"][config["suite"]]
    if device == "cpu":
        _require_cpu_values(config)
    processes = config["processes"] or suite["processes"] or 1
    config |= {"profiler": profiler, "device": device, "processes": processes, "code": None}
    if config["workload"]:
        config["code"] = workload_code(config["workload"], config["axes"])
    else:
        config["attention_codes"] = {
            attention: attention_code(attention, f"suites.{config['suite']}.attentions")
            for attention in suite["attentions"]
            if names_code(attention)
        }
    return expand(config | {"cpu_threads": resolve_threads(config, earlier)})


def _require_cpu_values(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a value of the axes that needs a CUDA device."""
    everything = {"precision": PRECISIONS, "attention": ATTENTIONS}
    suite = config["suites"][config["suite"]]
    for axis, needing in NEEDS_CUDA.items():
        if config["workload"]:
            key, values = f"axes.{axis}", config["axes"].get(axis, ())
        else:
            plural = BY_NAME[axis].plural
            key, values = f"suites.{config['suite']}.{plural}", suite[plural]
        for value in (value for value in needing if value in values):
            allowed = ", ".join(other for other in everything[axis] if other not in needing)
            raise ConfigError(
                f"{key}: {value!r} needs a CUDA device, and the device is cpu; allowed there: "
                f"{allowed}"
            )


def expand(settings: Mapping[str, Any]) -> Plan:
    """The plan of checked settings whose device and profiler are already resolved."""
    device, profiler = settings["device"], settings["profiler"]
    return Plan(settings["tag"], device, profiler, make_cases(settings, device), settings)
