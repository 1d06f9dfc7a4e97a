"""The steps of examples/ci run by hand: a slower one fails with its sentence, an equal passes."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workflow import ROOT

RECORDED = ROOT / "tests" / "data" / "strangers"
SAID = (
    "::error title=A training step takes longer::B's steps take longer than A's under the profiler",
    "The host waits for the device once a step in `train_step`, 9.0 ms in all, and fetches nothing."
    " Leave out torch.cuda.synchronize();",
)


def steps() -> dict[str, str]:
    """The commands of the example's steps by name, but for what installs."""
    text = (ROOT / "examples" / "ci" / "step-time.yml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)["jobs"]["step-time"]["steps"]
    return {
        each["name"]: each["run"] for each in found if "run" in each and each["name"] != "Install"
    }


@pytest.mark.parametrize(("after", "status"), [("compare_after", 1), ("compare_before", 0)])
def test_a_slower_step_fails_with_its_finding(tmp_path: Path, after: str, status: int) -> None:
    baseline, program = tmp_path / "ci" / "baseline", tmp_path / "bin" / "steptime"
    for folder in (baseline, program.parent, tmp_path / "capture"):
        folder.mkdir(parents=True)
    shutil.copy(RECORDED / "compare_before.json.gz", baseline / "rank0.json.gz")
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m workflow_src.cli.steptime "$@"\n'
    )
    program.chmod(0o755)
    trace = RECORDED / f"{after}.json.gz"
    (tmp_path / "train.py").write_text(
        "import os, shutil\n"
        f"shutil.copy({str(trace)!r}, os.path.join(os.environ['CAPTURE'], 'rank0.json.gz'))\n"
    )
    path = os.pathsep.join(
        [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    env = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "CAPTURE": "capture"}
    ended = {
        name: subprocess.run(["bash", "-e", "-c", text], cwd=tmp_path, env=env, text=True,
                             capture_output=True, timeout=120)
        for name, text in steps().items()
    }  # fmt: skip
    assert [each.returncode for each in ended.values()] == [0, status], ended
    assert all((said in ended["Compare"].stdout) == bool(status) for said in SAID)
