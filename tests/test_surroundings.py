"""Results are the same in any locale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow import ROOT, served_stage

CAPTURE = ROOT / "tests" / "data" / "captures" / "graph.json.gz"
MODULE = "workflow_src.cli.read_capture"
GIVEN = ("--capture", str(CAPTURE), "--fold", r"\.\d+")


def test_tables_are_the_same_in_a_locale_with_other_letters_and_decimal_commas(
    tmp_path: Path,
) -> None:
    """Files are UTF-8 there, too, and an I in lower case is an i."""
    name, letters = "tr_TR", "ISO-8859-9"
    make = ["localedef", "-i", name, "-f", letters, str(tmp_path / name)]
    if not shutil.which("localedef") or subprocess.run(make, capture_output=True).returncode:
        pytest.skip(f"the locale {name} can't be made on this machine")
    settings = {"LOCPATH": str(tmp_path), "LC_ALL": name, "PYTHONUTF8": "0"}
    asked = "import locale; print(locale.setlocale(locale.LC_ALL, ''), locale.getencoding())"
    said = subprocess.run(
        [sys.executable, "-c", asked], env=os.environ | settings, capture_output=True, text=True
    )
    assert said.stdout.split() == [name, letters]
    usual = tmp_path / "usual"
    assert served_stage(ROOT, MODULE, *GIVEN, "--output", str(usual))[0] == 0
    command = [sys.executable, "-m", MODULE, *GIVEN, "--output", str(tmp_path / "t/usual")]
    subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=True)
    for path in usual.iterdir():
        assert (tmp_path / "t/usual" / path.name).read_bytes() == path.read_bytes()
