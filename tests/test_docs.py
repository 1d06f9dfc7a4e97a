"""Every command in the documentation is one that works, as far as that can be known without it.

Options, settings and targets of snakemake, arguments of `python -m` and targets of make are
checked, and what a laptop can run is run, in a finished project of the smoke suite.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.workflow import ROOT, SUITE, Project, run_and_wait
from workflow_src.cli import steptime
from workflow_src.cli.settings import configured
from workflow_src.plan.suites import make_plan

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "benchmarks/README.md",
    "tools/gpu-host/README.md",
)
PROGRAMS = {"steptime", "make", "snakemake", "python", "python3", "pip", "sh", "."}
FOLDERS = ("tools/", ".ci/")

ONLY_FILES = re.compile(
    r"snakemake .*--cluster |pip install |([A-Z]+=\w+ )?python -m pytest |(sh )?\.ci/|(\. )?tools/"
    r"|\. \.venv7?/bin/activate$|CAPTURE=\w+ python train\.py$"
)
"""Commands of which only the files that they name are checked: other programs read the rest."""

ELSEWHERE = ["cluster=true", "device=cuda", "profiler=nsys"]
"""Settings with which a command for a GPU can be planned on a machine without one."""


def spans(text: str) -> Iterator[str]:
    """The lines of console blocks, and inline code."""
    for block in re.findall(r"^```(?:console|bash|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from re.sub(r"(^|\s)# .*|\s{2,}#.*", "", block, flags=re.MULTILINE).splitlines()
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"``.+?``", "", rest))


def is_command(span: str) -> bool:
    words = re.sub(r"^([A-Z_]+=\S+ )+", "", span).split()
    if words[0].startswith(FOLDERS):
        return (ROOT / words[0]).is_file() and os.access(ROOT / words[0], os.X_OK)
    return len(words) > 1 and words[0] in {*PROGRAMS, "--config"} and span != "python -m"


def documented() -> list[str]:
    """Every command in the documentation, once, and every line of a console block."""
    files = sorted(path for name in DOCUMENTS for path in ROOT.glob(name))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    found = []
    for text in texts.values():
        fenced = "".join(re.findall(r"^```(?:console|bash|sh)\n.*?^```", text, re.M | re.S))
        lines = [line.strip() for line in spans(fenced) if line.strip()]
        found += lines + [span for span in spans(text) if is_command(span)]
    return list(dict.fromkeys(command.strip() for command in found))


def checked(command: str) -> None:
    words = shlex.split(re.sub(r"^([A-Z_]+=\S+ )+", "", command))
    if ONLY_FILES.match(command):
        files = [word for word in words if word.startswith(FOLDERS) or word.endswith(".txt")]
        files += [word for word in words if word.startswith("tests/")]
        assert all((ROOT / file).exists() for file in files), command
    elif words[0] == "make":
        check_make(words[1:])
    elif words[0] in ("snakemake", "--config"):
        check_snakemake(words[words[0] == "snakemake" :])
    elif words[0] == "steptime":
        steptime.parsed(words[1:])
    elif words[:2] == ["python", "-m"]:
        check_module(words[2], words[3:])
    else:
        pytest.fail(
            f"{command!r} is not checked; teach tests/test_docs.py to, or say what it needs"
        )


def check_make(words: list[str]) -> None:
    ended = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def planned(words: list[str]) -> Any:
    """The arguments of a snakemake command, read by snakemake itself."""
    from snakemake.cli import parse_args

    return parse_args(words)[1]


def check_snakemake(words: list[str]) -> None:
    """Snakemake knows the options, and the configuration its settings."""
    given = planned(words)
    assert {*(given.forcerun or [])} <= rules() | {p for p in given.forcerun or [] if "/" in p}
    make_plan(configured([*ELSEWHERE, "cpu_threads=1", *(given.config or [])]), Path("nowhere"))


@cache
def rules() -> set[str]:
    texts = [file.read_text() for file in (ROOT / "rules").glob("*.smk")]
    return set(re.findall(r"^rule (\w+):", "\n".join(texts), re.MULTILINE))


def check_module(module: str, words: list[str]) -> None:
    """The module is there, and its help knows the subcommand and the options."""
    assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), module
    if not words:
        return
    chosen = [*takewhile(lambda word: not word.startswith("-"), words), "--help"]
    said = StringIO()
    called = patch.object(sys, "argv", [module, *chosen])
    with (
        called,
        redirect_stdout(said),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as ended,
    ):
        warnings.simplefilter("ignore")
        runpy.run_module(module, run_name="__main__")
    options = {word for word in words if word.startswith("-")}
    assert ended.value.code == 0 and all(option in said.getvalue() for option in options)


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_is_one_that_its_program_knows(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    checked(command)


HERE = (
    r"make (report|status|unlock|assemble|rewrite)",
    r'make (status|assemble) CONFIG="suite=assignment"',
    r"snakemake --cores 1 report\.md --config tag=after-upgrade",
    r"snakemake --cores 1 results/quickstart/timelines/mini-ctx128-fp32\.svg",
    r"python -m benchmarks\.remedies --blind benchmarks/remedies_blind/\w+",
)
"""Commands that are run as they stand, but for what SMALL replaces."""

SMALL = {
    # What it installs takes a network; CI installs it with `make test`.
    r"^make": "make -o .venv/installed",
    r"(assemble|status)$": r'\1 CONFIG="suite=assignment"',
    r"suite=assignment\b": "suite=smoke",
    # One case is measured anew.
    r"report\.md --config tag=after-upgrade": (
        "results/after-upgrade/benchmark/mini-ctx128-fp32.json --config tag=after-upgrade"
    ),
    "results/quickstart": "results/smoke",
    "mini-ctx128-fp32": "tiny-ctx16-fp32",
    r"remedies_blind/\w+": "remedies_blind/device_bound",
}


def small(command: str) -> str:
    """The command, made small enough to be run here."""
    for old, new in SMALL.items():
        command = re.sub(old, new, command)
    return command


@pytest.mark.workflow
def test_documented_commands_end_well(project: Project) -> None:
    """Each once, one after another, in a project whose config.yaml has the smoke suite's settings.

    The report is dropped before those that make it.
    """
    settings = "\n".join(setting.replace("=", ": ") for setting in SUITE)
    project.edit("config.yaml", "suite: quickstart\n", f"{settings}\n")
    shutil.copy(ROOT / "Makefile", project.folder)
    environment = os.environ | project.serve_snakemake()
    commands = {small(each) for each in documented() if any(re.fullmatch(p, each) for p in HERE)}
    assert len(commands) >= 7
    for command in sorted(commands):
        made = re.findall(r"\S+\.(?:md|svg|csv)", command)
        if re.search(r"\b(report|assemble|rewrite)\b", command):
            made.append("report.md")
            (project.folder / "report.md").unlink(missing_ok=True)
        folder = ROOT if "benchmarks." in command else project.folder
        status, said = run_and_wait(["bash", "-c", command], folder, environment)
        assert status == 0, f"{command}: {said}"
        assert [file for file in made if not (project.folder / file).is_file()] == [], said
