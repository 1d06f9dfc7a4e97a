"""The command for captures: what it prints and writes, how it ends, what it needs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workflow_src.cli.steptime import main

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
SLEEPY = DATA / "captures" / "sleepy.sqlite.gz"


def ended(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_first_screen_is_printed_and_all_else_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("bad.txt").write_text("hello")
    assert ended("bad.txt", SLEEPY) == 1, "one could not be read"
    said = capsys.readouterr()
    begins = [
        "sleepy: 3 steps, ",
        "Host and dev",
        "1. Data is c",
        "2. The host ",
        "Savings are ",
        "How sure",
    ]
    begins.append("More: steptime/sleepy/report.html")
    for paragraph, begin in zip(said.out.strip().split("\n\n"), begins, strict=True):
        assert paragraph.startswith(begin) and max(map(len, paragraph.splitlines())) <= 100
    assert said.err.startswith("bad.txt: it is neither an export of nsys nor a trace of torch.prof")
    assert said.err.count("\n") == 1 and [*Path("steptime").iterdir()] == [Path("steptime/sleepy")]
    written = {path.name for path in Path("steptime/sleepy").iterdir()}
    assert {"report.html", "summary.json", "findings.csv", "step.svg"} < written


def test_the_summary_has_each_number_with_its_unit_and_rows() -> None:
    assert ended(SLEEPY, "--step-ms", 15, "--output", "out") == 0
    found = json.loads(Path("out/sleepy/summary.json").read_text())
    assert (found["schema"], found["kind"], found["verdict"]) == (1, "capture", "finding")
    first, process = found["findings"][0], found["processes"][0]
    assert first["mechanism"] == "pageable_batch" and first["path"] == "step/copy"
    assert first["remedy"].startswith("Pin the memory") and first["confidence"] == "medium"
    assert first["saves_share"]["unit"] == "share" and first["saves_ms"]["unit"] == "ms"
    assert first["saves_ms"]["rows"] == "findings.csv:2"
    least, most = process["time_ms"]["interval"]
    assert least <= process["time_ms"]["value"] <= most
    assert process["step_ms"]["value"] == pytest.approx(15, rel=0.01) and process["plain"] is True
    assert found["doubts"] == ["few"] and found["says"][0].startswith("sleepy: 3 steps")


def test_a_comparison_ends_with_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """The third worked question of docs/agents.md."""
    after, before = (DATA / "strangers" / f"compare_{name}.json.gz" for name in ("after", "before"))
    assert ended(after, "--against", before) == 1
    said = capsys.readouterr().out
    folder = Path("steptime/compare_after/against-compare_before")
    assert (
        "\nB's steps take longer than A's under the profiler, 10.1 ms instead of 9.64 ms," in said
    )
    assert re.search(r"\n  cudaDeviceSynchronize  train_step +8\.83 +9\.11 +0\.275\n", said)
    assert said.endswith(f"\n\nMore: {folder}/compare.html\n")
    found = json.loads((folder / "compare.json").read_text())
    assert (found["schema"], found["kind"], found["status"]) == (1, "comparison", 1)
    assert (found["a"], found["b"], found["verdict"]) == (
        "compare_before",
        "compare_after",
        "longer",
    )
    assert found["judged"][0]["a_ms"]["rows"] == "A: steps.csv:2-7"
    assert found["host"][0]["what"] == "cudaDeviceSynchronize"
    assert ended(before, "--against", "gone.json") == 2
    assert ended(before, "--against", before) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the following arguments are required: FILE"),
        (("a.json", "--step-ms", "-1"), "--step-ms: must be a finite number above 0, not '-1'"),
        (("a b.json", "a-b.json"), "a b.json and a-b.json have one name, a-b.json, and their t"),
    ],
)
def test_wrong_arguments_have_a_sentence(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*words) == 2
    assert said in capsys.readouterr().err


def test_what_it_imports_is_what_it_declares() -> None:
    """Neither torch nor Snakemake, nor anything else that pyproject.toml doesn't name."""
    reads = "workflow_src.captures.torch_profiler"
    program = f"import sys, {reads}, workflow_src.cli.steptime; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    own = {name.partition(".")[0] for name in said.split()} - {*sys.stdlib_module_names}
    needs = {"numpy", "pandas", "jinja2", "msgspec", "markupsafe", "dateutil", "workflow_src"}
    # What these import where it is there, what starts Python, and compiled modules' own.
    besides = {"typing_extensions", "sitecustomize", "usercustomize", "cython_runtime"}
    assert {name for name in own if not name.startswith("_")} <= needs | besides
    assert not {"torch", "snakemake", "matplotlib"} & own
