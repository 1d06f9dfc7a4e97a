"""A failing test says so at once, with its cause and the command that runs it alone."""

import subprocess
import sys
from pathlib import Path

from tests.workflow import ROOT

TWO = """
import pytest

@pytest.mark.nsys
def test_first():
    raise ValueError("this is why\\nand more")

def test_second(request):
    printed = request.config.pluginmanager.get_plugin("terminalreporter")
    assert printed is None, "a worker prints nothing"
"""


def test_its_cause_and_its_command_are_printed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *  # noqa: F403\n")
    (tmp_path / "test_two.py").write_text(TWO)
    command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), "-n", "1"]
    ended = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    lines = ended.stdout.splitlines()
    at = lines.index("FAILED test_two.py::test_first (call): ValueError: this is why")
    assert lines[at + 1] == (
        "    alone: as root: sh .ci/install_nsys.sh, then python -m pytest test_two.py::test_first"
    )
    assert at < next(n for n, line in enumerate(lines) if "FAILURES" in line), "not at the end"
