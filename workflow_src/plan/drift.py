"""Whether this machine is still the one that a run's results were measured on.

Compares only what is cheap to find out, because this runs whenever snakemake does: torch is not
imported.
"""

import csv
import importlib.util
import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pynvml

from workflow_src.common.devices import nvml
from workflow_src.common.environment import cpu_model

COMPARED = ("gpu", "cpu", "driver", "cuda", "torch", "nsys")

MEASURE_AGAIN = "-R benchmark capture ceilings study_point"
"""The option of snakemake that measures all of a run again."""


def here(device: str) -> dict[str, set[str]]:
    """The possible values of each column of COMPARED on this machine; unknown ones are left out."""
    found = {"cpu": {cpu_model()}}
    if shutil.which("nsys"):
        asked = subprocess.run(["nsys", "--version"], capture_output=True, text=True, check=False)
        found["nsys"] = set(re.findall(r"version (\d{4}\.\d+)", asked.stdout))
    with nvml() as there:
        if there and device == "cuda":
            handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
            found["gpu"] = {str(pynvml.nvmlDeviceGetName(handle)) for handle in handles}
            found["driver"] = {str(pynvml.nvmlSystemGetDriverVersion())}
    if (spec := importlib.util.find_spec("torch")) and spec.origin:
        about = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
        found |= {"torch": {str(about["__version__"])}, "cuda": {str(about["cuda"] or "")}}
    return {name: values for name, values in found.items() if values}


def recorded(measured: Path) -> dict[str, str]:
    """What a measured file was measured with, by column of COMPARED; empty if it doesn't say.

    A capture's nsys release is read from the case's tables, beside which captures lie.
    """
    try:
        if measured.suffix == ".json":
            return dict(json.loads(measured.read_text(encoding="utf-8"))["environment"])
        if measured.suffix == ".nsys-rep":
            table = measured.parents[1] / "tables" / measured.stem / "environments.csv"
            with table.open(encoding="utf-8", newline="") as file:
                version = next(csv.DictReader(file))["profiler_version"]
            return {"nsys": ".".join(version.split(".")[:2])}
    except (OSError, ValueError, LookupError, TypeError, RecursionError, StopIteration):
        pass  # The stage that reads the file says what is wrong with it.
    return {}


def drift(measured: Iterable[Path], now: dict[str, set[str]]) -> str:
    """The first difference between what files were measured with and what is here; "" if none."""
    then = [recorded(path) for path in measured if path.is_file()]
    for column in (name for name in COMPARED if name in now):
        values = sorted({str(row[column]) for row in then if row.get(column)} - now[column])
        if values:
            was = " or ".join(map(repr, values))
            return (
                f"{column}: measured with {was}, and here is {' or '.join(sorted(now[column]))!r}"
            )
    return ""
