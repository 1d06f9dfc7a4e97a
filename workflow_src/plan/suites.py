"""The plan: every case of a suite, with `auto` resolved once and recorded in plan.csv."""

import csv
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from workflow_src.common.case import (
    ATTENTIONS,
    AXES,
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
from workflow_src.plan.brought import brought_cases, code_at
from workflow_src.plan.config import check

BENCHMARK_KEYS = ("warmup_steps", "steps", "processes")
CAPTURE_KEYS = ("profiler", "warmup_steps", "capture_steps")

RESOLVED = {"device": "cpu|cuda", "profiler": "nsys|torch", "cpu_threads": "([0-9]{1,9})?"}
"""Settings that are chosen once per tag where they are left open, as patterns."""

MOST_BLOCKS_IN_CAPTURE = 128
"""Blocks times steps: on an H200 (nsys 2025.3, three phases, naive attention, bf16) 144 of them
made a report of 5.4 MB."""


@dataclass(frozen=True)
class Plan:
    """All cases of one run, and how they are measured."""

    tag: str
    device: str
    profiler: str
    cases: tuple[AnyCase, ...]
    settings: Mapping[str, Any]

    @property
    def results(self) -> str:
        """The folder of results."""
        return f"results/{self.tag}"

    @property
    def case_ids(self) -> list[str]:
        """Ids in the order of the plan."""
        return [case.case for case in self.cases]

    @property
    def capture_suffix(self) -> str:
        """The suffix of capture files."""
        return ".nsys-rep" if self.profiler == "nsys" else ".kineto.json.gz"

    def _row(self, case_id: str, keys: tuple[str, ...]) -> dict[str, Any]:
        if case_id not in self.case_ids:
            raise ConfigError(one_of(f"case of {self.tag}", case_id, self.case_ids))
        case = self.cases[self.case_ids.index(case_id)]
        row = case.as_dict() | {key: self.settings[key] for key in keys}
        if code := self.settings["attention_codes"].get(case.attention):
            row["attention_code"] = code
        return row | self.threads

    @property
    def threads(self) -> dict[str, int]:
        """`cpu_threads` of a CPU; empty for another device."""
        return {"cpu_threads": self.settings["cpu_threads"]} if self.device == "cpu" else {}

    def benchmark_row(self, case_id: str) -> dict[str, Any]:
        """What a case's benchmark depends on. Raises ConfigError if the plan has no such case."""
        energy = {"energy_seconds": seconds} if (seconds := self.settings["energy_seconds"]) else {}
        return self._row(case_id, BENCHMARK_KEYS) | energy

    def capture_row(self, case_id: str) -> dict[str, Any]:
        """The same of its capture: for fewer steps where the model is deep."""
        row = self._row(case_id, CAPTURE_KEYS)
        most = max(1, MOST_BLOCKS_IN_CAPTURE // int(row.get("layers", 1)))
        return row | {"capture_steps": min(row["capture_steps"], most)}

    def ceilings_point(self) -> dict[str, Any]:
        """The same of the ceilings. No limit of memory: it stands for a card no slower."""
        there = {case.precision for case in self.cases}
        precisions = [name for name in PRECISIONS if name in there]
        sizes = {"sizes": SIZES[self.device], "precisions": precisions}
        return {"device": self.device} | sizes | self.threads

    def rows(self) -> list[dict[str, Any]]:
        """A row per case."""
        return [self.benchmark_row(case) | self.capture_row(case) for case in self.case_ids]


def make_cases(config: Mapping[str, Any]) -> tuple[AnyCase, ...]:
    """Every combination of the suite's axes, grouped by size."""
    suite = config["suites"][config["suite"]]
    cases: list[AnyCase] = []
    if config["workload"]:
        cases += brought_cases(config)
        key, advice = "axes", "values must differ as text"
    else:
        sizes, varied = suite["sizes"], (suite[BY_NAME[name].plural] for name in VARIED)
        for size, *values in product(sizes, *varied):
            axes = dict(zip(VARIED, values, strict=True))
            # But for the main axes, those at their usual value are left out of an id.
            marks = [axis.marked(axes[axis.name]) for axis in AXES]
            about = {"case": "-".join([size, *filter(None, marks)]), "size": size}
            about |= {**config["sizes"][size], **axes}
            cases.append(Case.from_dict({**config, **about}))
        key, advice = f"suites.{config['suite']}.attentions", "rename a file or a function"
    for twice in (name for name, times in Counter(e.case for e in cases).items() if times > 1):
        raise ConfigError(f"{key}: two cases would be called {twice!r}; {advice}")
    return tuple(cases)


def recorded(path: Path) -> dict[str, str]:
    """RESOLVED of an earlier plan of this tag, if any. Raises ConfigError if it isn't a plan."""
    if not os.path.lexists(path):
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file), {})
    except (OSError, ValueError, csv.Error):
        row = {}
    found = {key: row.get(key) or "" for key in RESOLVED}
    for key, value in found.items():
        if not re.fullmatch(RESOLVED[key], value):
            # Every snakemake call reads it, so that -R alone would end here too.
            said = f"{path} is not a plan ({key}: {value!r}); delete it and {remake(path)}"
            raise ConfigError(said)
    return {key: value for key, value in found.items() if value}


def resolve(config: Mapping[str, Any], earlier: Mapping[str, str]) -> dict[str, Any]:
    """RESOLVED, chosen where it is left open.

    An earlier plan's choice is kept, so that results copied from another machine are assembled
    here without being measured again. Raises ConfigError if the device or profiler is missing here
    and no earlier plan resolved to it, and for what is left open on a cluster, where this machine
    says nothing about the others.
    """
    chosen: dict[str, Any] = {
        key: earlier.get(key, config[key]) if config[key] in ("auto", None) else config[key]
        for key in RESOLVED
    }
    if config["cluster"]:
        _require_named(chosen)
    else:
        chosen |= _found_here(chosen["device"], chosen["profiler"], earlier)
    on_cpu = chosen["device"] == "cpu"
    threads = chosen["cpu_threads"] or len(os.sched_getaffinity(0))
    return chosen | {"cpu_threads": int(threads) if on_cpu else None}


def _require_named(chosen: Mapping[str, Any]) -> None:
    on_cpu = chosen["device"] == "cpu"
    for key in ("device", "profiler", *(["cpu_threads"] if on_cpu else [])):
        if chosen[key] in ("auto", None):
            allowed = RESOLVED[key].replace("|", ", ") if chosen[key] else "a number of threads"
            raise ConfigError(
                f"{key}: {chosen[key]!r} can't be resolved on this machine where cluster is true; "
                f"allowed: {allowed}"
            )


def _found_here(device: str, profiler: str, earlier: Mapping[str, str]) -> dict[str, str]:
    has_nsys = shutil.which("nsys") is not None
    if device == "auto":
        device = "cuda" if cuda_devices() else "cpu"
    elif device == "cuda" and earlier.get("device") != "cuda" and not cuda_devices():
        raise ConfigError("device: 'cuda' asked for, but no CUDA device is here; allowed: cpu")
    if profiler == "auto":
        profiler = "nsys" if device == "cuda" and has_nsys else "torch"
    elif profiler == "nsys" and earlier.get("profiler") != "nsys" and not has_nsys:
        raise ConfigError(
            "profiler: 'nsys' asked for, but no nsys is on the PATH; install Nsight Systems, or "
            "set profiler to torch"
        )
    return {"device": device, "profiler": profiler}


def make_plan(raw: Mapping[str, Any], results: Path = Path("results")) -> Plan:
    """The plan of a configuration as read. Raises ConfigError."""
    config = check(raw)
    config |= resolve(config, recorded(results / config["tag"] / "plan.csv"))
    suite, workload = config["suites"][config["suite"]], config["workload"]
    if config["device"] == "cpu":
        _require_cpu_values(config)
    key = f"suites.{config['suite']}.attentions"
    attentions = [] if workload else filter(names_code, suite["attentions"])
    config |= {
        "code": code_at(workload, axes=config["axes"]) if workload else None,
        "attention_codes": {name: code_at(name, key) for name in attentions},
    }
    return expand(config)


def _require_cpu_values(config: Mapping[str, Any]) -> None:
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
    """The plan of checked settings with RESOLVED."""
    cases = make_cases(settings)
    return Plan(settings["tag"], settings["device"], settings["profiler"], cases, settings)
