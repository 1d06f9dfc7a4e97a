"""Which planted faults other tools name: what they say of the recordings, beside this project.

Writes a row per recorded loop: the rank of its fault's mechanism among this project's findings, and
the labels of other tools that claim a cause. `nsys analyze` and nsys-ai read exports of nsys.
torch's pattern matcher can't read a recording: it looks at a live run on the machine's device, of
small loops on a CPU, and only of faults that one of its patterns is about and of two clean loops.

Needs nsys (2023.4 or later) on the path, nsys-ai (`pip install nsys-ai`, in an environment of its
own), and torch here; a folder has nsys/, torch/ and measured.csv, as benchmarks.planted.record
writes them.
"""

import argparse
import contextlib
import gzip
import io
import json
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.planted.score import COLUMNS as SCORED
from benchmarks.planted.score import (
    COSTS,
    MECHANISM_OF,
    diagnoses,
    name_of,
    scored,
    times,
    undiagnosed,
)

Labels = dict[str, tuple[str, ...]]
"""The mechanisms that each label of a tool names: generously, if the label tells the cause."""

WAITS = ("item", "synchronize", "number_of_each_tensor", "selection", "debug_checks")

NSYS_RULES: Labels = {
    "cuda_memcpy_async": ("pageable_batch", "host_scalars", "host_gap", "blocking_save"),
    "cuda_memcpy_sync": ("pageable_batch", "host_scalars", "host_gap", "blocking_save"),
    "cuda_api_sync": WAITS,
}
"""All default rules but gpu_gaps and gpu_time_util, which say that a device is idle and not why,
and cuda_memset_sync, which no fault is about. The planted host_gap begins with a pageable copy."""

GENERAL = ("Small Kernel Overhead",)
"""What is said rightly of clean programs whose launches set the pace."""

LEAST_ROWS = 5
"""Rows of a rule that count, one for each step: a recording itself ends with a synchronization."""

NSYS_AI: Labels = {
    "Excessive Synchronization": WAITS,
    "CPU sync blocks": WAITS,
    "Excessive H2D Transfers": ("pageable_batch", "unhidden_copy"),
    "Large H2D Transfer": ("pageable_batch", "unhidden_copy"),
    "Large D2H Transfer": ("blocking_save", "host_gap"),
    "Pageable Memory in Async Memcpy": ("pageable_batch", "host_scalars", "host_gap"),
    "Small Kernel Overhead": ("elementwise_chain", "parameter_by_parameter"),
    "Layer Outlier": ("layer_copies", "python_in_a_layer"),
}
"""Patterns and findings of severity "warning" but those of idle time, of hot kernels, and of layers
that differ in time, which are said of each program."""

PATTERNS: Labels = {
    "FP32 MatMul Pattern": ("float32_products",),
    "Optimizer Single Tensor Pattern": ("parameter_by_parameter",),
    "Matrix Multiplication Dimension Not Aligned Pattern": ("unaligned_products",),
    "Gradient Set To Zero Instead of None Pattern": ("zero_fills",),
    "Synchronized DataLoader Pattern": ("slow_loader",),
    "Extra CUDA Copy Pattern": ("host_scalars",),
}

COLUMNS = (
    "capture", *COSTS, "cost_share", "mechanism", "rank_nsys", "others_nsys_ms", "rank_torch",
    "others_torch_ms", "nsys_analyze", "nsys_ai", "torch_matcher",
)  # fmt: skip
"""mechanism: empty for a clean loop; of this project's findings in the recording by nsys, and by
torch.profiler: the rank of the fault's own, from 1, and the most that another one saves."""

CLEAN_LIVE = ("clean_decoder-host", "clean_network-device")

TOOLS: dict[str, Labels] = {
    "nsys_analyze": NSYS_RULES, "nsys_ai": NSYS_AI, "torch_matcher": PATTERNS
}  # fmt: skip
NOT_ASKED, BY = "not asked", "; "


def nsys_rules(export: Path) -> list[str]:
    """The rules that list enough of an export."""
    said = subprocess.run(
        ["nsys", "analyze", "--format", "csv", str(export)],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    parts = re.split(r"Processing \[.*?\] with \[.*?(\w+)\.py\]\.\.\. *\n", said)[1:]
    rows = {
        rule: text.strip().count("\n") for rule, text in zip(parts[::2], parts[1::2], strict=True)
    }
    return [rule for rule in NSYS_RULES if rows.get(rule, 0) >= LEAST_ROWS]


def nsys_ai(export: Path, program: Path) -> list[str]:
    """What two commands of nsys-ai warn of: its default skills, and its list of root causes."""
    findings = _json(program, export, "diagnose")["findings"]
    causes = _json(program, export, "skill", "run", "root_cause_matcher")
    labels = [each["label"] for each in findings if each["severity"] == "warning"]
    labels += [each["pattern"] for each in causes]
    return [name for name in NSYS_AI if any(label.startswith(name) for label in labels)]


def _json(program: Path, export: Path, *command: str) -> Any:
    """What a command of nsys-ai says of an export."""
    arguments = [str(program.absolute()), *command, str(export), "--format", "json"]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=export.parent)
    return json.loads(said.stdout)


def matched(name: str) -> list[str]:
    """The patterns that torch's matcher sees in a live run of a loop."""
    from torch.profiler import ProfilerActivity, profile
    from torch.profiler._pattern_matcher import report_all_anti_patterns

    from benchmarks.planted.clean import CLEAN
    from benchmarks.planted.faults import FAULTS
    from benchmarks.planted.loop import DEVICE, TINY
    from benchmarks.planted.others import OTHERS

    fault = next(each for each in [*FAULTS, *CLEAN, *OTHERS] if each.name == name)
    on_cpu = DEVICE.type == "cpu"
    loop = fault.make(replace(TINY, batch=8) if on_cpu else fault.size)
    loop.step(0, 1)
    kinds = [ProfilerActivity.CPU] if on_cpu else [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(
        activities=kinds, with_stack=True, record_shapes=True, profile_memory=True
    ) as profiler:
        loop.step(1, 1)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        report_all_anti_patterns(profiler)
    return [pattern for pattern in PATTERNS if f"{pattern}:" in text.getvalue()]


def named(row: "pd.Series[str]", tool: str) -> bool:
    """Whether a tool's labels of a row name its mechanism."""
    labels = str(row[tool]).split(BY)
    return any(row["mechanism"] in TOOLS[tool].get(label, ()) for label in labels)


def findings(folder: Path, known: pd.DataFrame) -> pd.DataFrame:
    """This project's findings of a folder's recordings: rows of score.COLUMNS, by capture."""
    paths = sorted(folder.glob("*.gz"))
    rows = [scored(n, d, known["cost_ms"].get(n, 0.0)) for n, d in diagnoses(paths, known, False)]
    rows += undiagnosed(paths, rows, known)
    return pd.DataFrame(rows, columns=list(SCORED)).set_index("capture")


def asked(path: Path, program: Path) -> tuple[str, str]:
    """The labels of `nsys analyze` and of nsys-ai for a compressed export."""
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / path.stem
        export.write_bytes(gzip.decompress(path.read_bytes()))
        return BY.join(nsys_rules(export)), BY.join(nsys_ai(export, program))


def rows_of(folder: Path, program: Path) -> pd.DataFrame:
    """A row of COLUMNS for each recording of a folder with nsys/, torch/ and measured.csv."""
    known = times(folder / "measured.csv")
    paths = {each: sorted((folder / each).glob("*.gz")) for each in ("nsys", "torch")}
    names = {each: [name_of(path) for path in paths[each]] for each in paths}
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda path: asked(path, program), paths["nsys"]))
    labels = pd.DataFrame(said, columns=["nsys_analyze", "nsys_ai"], index=names["nsys"])
    table = labels.reindex(sorted({*names["nsys"], *names["torch"]}), fill_value=NOT_ASKED)
    table[list(COSTS)] = known[list(COSTS)].round(2) + 0.0
    table["cost_share"] = (known["cost_ms"] / known["plain_ms"]).round(3)
    table["mechanism"] = [mechanism_of(name) for name in table.index]
    for profiler in paths:
        rows = findings(folder / profiler, known)
        ranks = rows["rank"].astype("Int64").astype(object).reindex(table.index)
        table[f"rank_{profiler}"] = ranks.where(table.index.isin(names[profiler]), NOT_ASKED)
        table[f"others_{profiler}_ms"] = rows["others_ms"].round(2)
    table["torch_matcher"] = [
        BY.join(matched(name)) if about_a_pattern(name) else NOT_ASKED for name in table.index
    ]
    return table.reset_index(names="capture")[list(COLUMNS)]


def mechanism_of(name: str) -> str:
    """The mechanism of a loop's fault, "" of a clean one."""
    fault = name.rsplit("-", 1)[0]
    return "" if fault.startswith("clean_") else MECHANISM_OF.get(fault, fault)


def about_a_pattern(name: str) -> bool:
    """Whether torch's matcher is asked about a loop."""
    return name in CLEAN_LIVE or any(mechanism_of(name) in each for each in PATTERNS.values())


def main() -> None:
    """Ask all tools, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--nsys-ai", type=Path, required=True, help="its command")
    parser.add_argument("--output", type=Path, required=True, help="a CSV")
    given = parser.parse_args()
    table = pd.concat([rows_of(folder, given.nsys_ai) for folder in given.folders])
    table.to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
