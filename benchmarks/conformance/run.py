"""Asks all tools about all traces."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conformance.recorded import DATA, RECORDED
from benchmarks.conformance.scenario import truth_of
from benchmarks.conformance.score import Score, scored
from benchmarks.conformance.tools import ADAPTERS, HTA, READS
from benchmarks.conformance.traces import scenarios
from benchmarks.conformance.truth import Truth
from benchmarks.conformance.writers import MICROSECOND, write_nsys, write_torch

RECORDINGS = "recorded"
NSYS, TORCH = "nsys", "torch"
OTHER_FORMAT, NOT_INSTALLED = "other format", "not installed"


@dataclass(frozen=True)
class Trace:
    """A file, its kind and format, and what is true of it."""

    name: str
    kind: str
    format: str
    path: Path
    truth: Truth


@dataclass(frozen=True)
class Result:
    """A trace, and the score of each tool."""

    trace: Trace
    scores: dict[str, Score]


def traces(folder: Path) -> Iterator[Trace]:
    """All traces, made or unpacked in a folder."""
    for scenario in scenarios():
        name, kind = scenario.name, scenario.kind
        yield Trace(name, kind, NSYS, write_nsys(scenario, folder), truth_of(scenario))
        if scenario.torch:
            truth = truth_of(scenario, MICROSECOND)
            yield Trace(name, kind, TORCH, write_torch(scenario, folder), truth)
    for packed, truth in RECORDED.items():
        path = folder / packed.removesuffix(".gz")
        path.write_bytes(gzip.decompress((DATA / packed).read_bytes()))
        form = TORCH if path.suffix == ".json" else NSYS
        yield Trace(path.stem, RECORDINGS, form, path, truth)


def asked(trace: Trace, tool: str, installed: Path | None) -> Score:
    """The score of one tool on one trace."""
    if trace.path.suffix not in READS[tool]:
        return Score(refused=OTHER_FORMAT)
    if tool == HTA and installed is None:
        return Score(refused=NOT_INSTALLED)
    answer, ended = ADAPTERS[tool](trace.path, trace.truth, installed)
    return scored(answer, trace.truth, ended.seconds, ended.peak_mb)


def results(folder: Path, installed: Path | None) -> Iterator[Result]:
    """The scores of all tools on all traces, one program at a time."""
    for trace in traces(folder):
        yield Result(trace, {tool: asked(trace, tool, installed) for tool in ADAPTERS})
