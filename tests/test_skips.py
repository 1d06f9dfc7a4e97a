"""The end of a run says why tests were skipped, and what runs them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import summary, way
from tests.workflow import ROOT

GIVEN = re.compile(
    r'skipif\(.*?reason="([^"]+)"|reason = f?"([^"]+)"\n[^\n]*skip\)|pytest\.skip\("([^"]+)"\)',
    flags=re.DOTALL,
)
NEEDED = re.compile(r'importorskip\("(\w+)"\)')


def reasons() -> list[str]:
    """The reasons for which tests are skipped, as written in their code."""
    files = [path for path in sorted((ROOT / "tests").glob("*.py")) if path != Path(__file__)]
    code = "".join(path.read_text() for path in files)
    given = ["".join(found) for found in GIVEN.findall(code)]
    # Without torch, nothing can be tested.
    needed = [f"could not import '{name}'" for name in NEEDED.findall(code) if name != "torch"]
    return given + needed


@pytest.mark.parametrize("reason", sorted(set(reasons())))
def test_every_reason_to_skip_has_a_way_to_run_the_tests(reason: str) -> None:
    assert way(reason)


def test_reasons_are_counted() -> None:
    lines = summary(
        ["Skipped: needs a CUDA device", "Skipped: odd", "Skipped: needs a CUDA device"]
    )
    assert lines == [
        "2 skipped: needs a CUDA device; on a machine with a CUDA device: python -m pytest -m gpu",
        "1 skipped: odd; no command is known that runs them",
    ]


def test_a_run_ends_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *  # noqa: F403\n")
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n\n@pytest.mark.skip(reason='needs a CUDA device')\ndef test(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), "-q", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 skipped: needs a CUDA device; on a machine with" in ended.stdout


def test_what_the_gpu_command_selects_is_all_that_needs_a_gpu() -> None:
    """Else the command in the summary would leave out some of what was skipped."""
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        text = path.read_text() if path != Path(__file__) else ""
        for found in re.finditer(r"skipif\([^\n]*needs a CUDA device", text):
            before = text[: found.start()].rsplit("\n\n", 1)[-1]
            assert "pytest.mark.gpu" in before, f"{path.name}: {found[0]}"
