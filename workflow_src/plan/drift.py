"""Whether this machine is still the one that a run's results were measured on.

Runs whenever snakemake does, so it compares what is cheap to find out, without importing torch.
"""

import importlib.util
import json
import runpy
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pynvml

from workflow_src.common.devices import nvml
from workflow_src.common.environment import cpu_model

COMPARED = ("gpu", "cpu", "driver", "cuda", "torch")

MEASURE_AGAIN = "-R benchmark capture ceilings study_point"
"""Has snakemake measure all of a run again."""


def here(device: str) -> dict[str, set[str]]:
    """The possible values of COMPARED on this machine, as far as known."""
    found = {"cpu": {cpu_model()}}
    with nvml() as there:
        if there and device == "cuda":
            handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
            found["gpu"] = {str(pynvml.nvmlDeviceGetName(handle)) for handle in handles}
            found["driver"] = {str(pynvml.nvmlSystemGetDriverVersion())}
    if (spec := importlib.util.find_spec("torch")) and spec.origin:
        about = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
        found |= {"torch": {str(about["__version__"])}, "cuda": {str(about["cuda"] or "")}}
    return {name: values for name, values in found.items() if values}


def drift(measured: Iterable[Path], now: dict[str, set[str]]) -> str:
    """The first difference of what files were measured with from what is here, or ""."""
    then = list[dict[str, str]]()
    # Captures don't say what they were measured with.
    for path in (path for path in measured if path.suffix == ".json"):
        # The stage that reads a damaged file says what is wrong with it.
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            then.append(dict(json.loads(path.read_text(encoding="utf-8"))["environment"]))
    for column in (name for name in COMPARED if name in now):
        values = sorted({str(row[column]) for row in then if row.get(column)} - now[column])
        if values:
            was = " or ".join(map(repr, values))
            return (
                f"{column}: measured with {was}, and here is {' or '.join(sorted(now[column]))!r}"
            )
    return ""
