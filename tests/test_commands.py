"""Commands for people: a model is checked, a slower step fails in CI, and any locale does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workflow import ROOT, served_stage, stage_server, write_script


def checked(*config: str) -> tuple[int, str]:
    """The status of the command with these settings, and what it prints."""
    return served_stage(ROOT, "workflow_src.cli.check_model", "--config", *config)


def test_each_phase_of_each_case_runs_once() -> None:
    axes = "axes={context: [16, 32], width: [16]}"
    status, printed = checked("workload=examples/my_model.py:make", axes)
    assert status == 0, printed
    assert "my_model-context=32-width=16-fp32: " in printed
    assert "\n6 of 6 phases of 2 cases ran on cpu. To measure: snakemake " in printed


def test_a_loss_that_is_not_finite_is_refused_in_one_sentence() -> None:
    status, printed = checked("workload=tests/brought/models.py:not_finite")
    assert status == 1 and "the loss of models.not_finite-fp32 isn't finite" in printed
    assert "Traceback" not in printed


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


def test_a_slower_step_fails_with_its_finding(tmp_path: Path) -> None:
    baseline, program = tmp_path / "ci" / "baseline", tmp_path / "bin" / "steptime"
    for folder in (baseline, program.parent, tmp_path / "capture"):
        folder.mkdir(parents=True)
    shutil.copy(RECORDED / "compare_before.json.gz", baseline / "rank0.json.gz")
    write_script(program, '#!/bin/sh\nexec PYTHON -I -S CLIENT -m workflow_src.cli.steptime "$@"\n')
    for part in ("workflow_src", "report_templates"):
        (tmp_path / part).symlink_to(ROOT / part)
    trace = RECORDED / "compare_after.json.gz"
    (tmp_path / "train.py").write_text(
        "import os, shutil\n"
        f"shutil.copy({str(trace)!r}, os.path.join(os.environ['CAPTURE'], 'rank0.json.gz'))\n"
    )
    path = os.pathsep.join(
        [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    env = os.environ | {"PATH": path, "CAPTURE": "capture", "WATCH_SERVER": stage_server()}
    ended = {
        name: subprocess.run(["bash", "-e", "-c", text], cwd=tmp_path, env=env, text=True,
                             capture_output=True, timeout=120)
        for name, text in steps().items()
    }  # fmt: skip
    assert [each.returncode for each in ended.values()] == [0, 1], ended
    assert all(said in ended["Compare"].stdout for said in SAID)


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
