"""Mutants are tried by the tests that run their lines."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks import mutants

MODULE = """
def compare(a, b):
    return a < b


def unused():
    return 1


def main():
    if __name__ != "__main__":
        raise SystemExit(4)
    print(5)
"""
TESTS = {
    "test_a.py": """
from workflow_src import module


def test_it():
    assert module.compare(1, 2)
""",
    "test_b.py": """
import subprocess, sys


def test_it():
    command = [sys.executable, "-c", "from workflow_src import module as m; m.main()"]
    assert subprocess.run(command).returncode == 4
""",
    "test_fails.py": "import workflow_src.module\n\ndef test_it():\n    raise OSError\n",
}


def test_mutants_are_tried_by_the_tests_that_run_their_lines_and_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tree"
    for folder, files in (("workflow_src", {"module.py": MODULE}), ("tests", TESTS)):
        (root / folder).mkdir(parents=True)
        for name, text in files.items():
            (root / folder / name).write_text(text)
    lines = MODULE.splitlines()
    tried = {
        ("return a < b", "return a >= b"): ("killed", "tests/test_a.py"),
        ("return a < b", "return a <= b"): ("survived", ""),
        ("raise SystemExit(4)", "raise SystemExit(5)"): ("killed", "tests/test_b.py"),
        ("return 1", "return 2"): ("not run", ""),
        ("return 3", "return 4"): ("gone", ""),
    }
    rows = [
        ("workflow_src/module.py", 1 + sum(before not in line for line in lines), before, after)
        for before, after in tried
    ]
    pd.DataFrame(rows, columns=mutants.KEY).to_csv(tmp_path / "drawn.csv", index=False)
    command = f"x --again {tmp_path}/drawn.csv --root {root} --output {tmp_path}/found.csv"
    monkeypatch.setattr("sys.argv", [*command.split(), "--workers", "2", "--mark", ""])
    mutants.main()
    found = pd.read_csv(tmp_path / "found.csv", keep_default_na=False).set_index("after")
    assert {
        (row["before"], after): (row["result"], row["by"]) for after, row in found.iterrows()
    } == tried
    stamp = (tmp_path / "found.csv").read_text()
    mutants.main()
    assert (tmp_path / "found.csv").read_text() == stamp, "what was tried is not tried again"
