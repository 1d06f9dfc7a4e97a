"""Says at once why a test failed, and what runs it alone, instead of at the end of the run."""

import shlex

import pytest

from tests.skips import WAYS

NEEDS = {
    "slurm": "Slurm answers",
    "snakemake7": "Snakemake 7",
    "nsys": "nsys",
    "browser": "chromium",
}
"""What a test with this mark needs, by its entry in WAYS."""


def first_line(report: pytest.TestReport) -> str:
    """The error that ended a test, in a line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    said = str(crash.message if crash else report.longrepr).strip()
    return said.splitlines()[0][:300] if said else "no reason is given"


def alone(report: pytest.TestReport) -> str:
    """What runs a test by itself."""
    marks = [mark for mark in NEEDS if mark in report.keywords]
    needed = [WAYS[NEEDS[mark]].partition(", then ")[0] for mark in marks]
    return ", then ".join([*needed, f"python -m pytest {shlex.quote(report.nodeid)}"])


class Failures:
    """A plugin that prints them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        # Workers of pytest-xdist have none: they send their reports to the process that does.
        if report.failed and reporter is not None:
            reporter.write_line("")
            reporter.write_line(f"FAILED {report.nodeid} ({report.when}): {first_line(report)}")
            reporter.write_line(f"    alone: {alone(report)}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin; pytest calls this hook, which conftest.py imports."""
    config.pluginmanager.register(Failures(config))
