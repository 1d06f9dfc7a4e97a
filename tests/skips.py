"""Says at the end of a run why tests were skipped, and what runs them."""

import re
from collections import Counter
from collections.abc import Iterable

import pytest

WAYS = {
    "CUDA device$|nvcc": "on a machine with a CUDA device: python -m pytest -m gpu",
    "Slurm answers": "as root: .ci/slurm_lab up, then python -m pytest -m slurm",
    "Snakemake 7": "make .venv7/installed, then python -m pytest -m snakemake7",
    "chromium": "as root: apt-get install chromium, then python -m pytest -m browser",
    "nsys": "as root: sh .ci/install_nsys.sh, then python -m pytest -m nsys",
    "Triton's interpreter|interpreter compiles": "test_kernels.py runs them in another process",
    "triton": "on Linux: make .venv/installed, then python -m pytest tests/test_kernels.py",
    "snakemake_executor_plugin_slurm": "pip install -r requirements-slurm.txt",
    "pyarrow": "pip install --target FOLDER pyarrow, then PYTHONPATH=FOLDER python -m pytest ...",
    "root": "as root, where mounting file systems is allowed",
    "separate process|there is a CUDA device": "they run where this is not so",
}
"""What runs the tests that are skipped for a reason in which the pattern is found."""


def way(reason: str) -> str:
    """What runs the tests skipped for `reason`; "" if unknown."""
    return next((way for pattern, way in WAYS.items() if re.search(pattern, reason)), "")


def summary(reasons: Iterable[str]) -> list[str]:
    """A line per reason with its number of tests, the most frequent first."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    return [
        f"{count} skipped: {reason}; {way(reason) or 'no command is known that runs them'}"
        for reason, count in counts.most_common()
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the summary; pytest calls this hook, which conftest.py imports."""
    reports = terminalreporter.stats.get("skipped", [])
    for line in summary(str(report.longrepr[2]) for report in reports):
        terminalreporter.write_line(line)
