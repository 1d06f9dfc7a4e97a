"""Every command in the documentation is one that works, as far as that can be known without it.

Options, settings and targets of snakemake, arguments of `python -m` and targets of make are
checked, and what a laptop can run is run, in a finished project of the smoke suite.
"""

import os
import re
import shlex
import shutil
import subprocess
from itertools import takewhile
from pathlib import Path

import pytest
from snakemake.cli import parse_args

from tests.workflow import ROOT, SUITE, Project, run_and_wait, served_stage
from workflow_src.cli import steptime
from workflow_src.cli.of_snakemake import configured
from workflow_src.plan.suites import make_plan

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "benchmarks/README.md",
    "tools/gpu-host/README.md",
)
BLOCK = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"([A-Z_]+=\S+ )*(steptime|make|snakemake|python|pip|sh|\.|--config) (?!-m$)\S.*"
    r"|(tools/(?!.*\.)|\.ci/).*"
)
"""Inline code that is a command, or the settings of one."""

ONLY_FILES = re.compile(
    r"snakemake .*--cluster |pip install |nsys profile |([A-Z]+=\w+ )?python -m pytest "
    r"|(sh )?\.ci/|(\. )?tools/|\. \.venv7?/bin/activate$|CAPTURE=\w+ python train\.py$"
)
"""Commands of which only the files that they name are checked: other programs read the rest."""

ELSEWHERE = ["cluster=true", "device=cuda", "profiler=nsys", "cpu_threads=1"]
"""Settings with which a command for a GPU can be planned on a machine without one."""


def documented() -> list[str]:
    """Every line of a console block and every command in inline code, once."""
    found: list[str] = []
    for path in sorted(path for name in DOCUMENTS for path in ROOT.glob(name)):
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.findall(text):
            found += re.sub(r"(^|\s+)# .*", "", block, flags=re.MULTILINE).splitlines()
        prose = re.sub(r"^```.*?^```|``.+?``", "", text, flags=re.MULTILINE | re.DOTALL)
        found += [code for code in re.findall(r"`([^`\n]+)`", prose) if COMMAND.fullmatch(code)]
    return list(dict.fromkeys(command.strip() for command in found if command.strip()))


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_is_one_that_its_program_knows(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    first, *words = shlex.split(re.sub(r"^([A-Z_]+=\S+ )+", "", command))
    if ONLY_FILES.match(command):
        files = [word for word in (first, *words) if re.match(r"(tools|\.ci|tests)/", word)]
        assert all((ROOT / file).exists() for file in files)
    elif first == "make":
        subprocess.run(["make", "-n", *words], check=True, capture_output=True)
    elif first in ("snakemake", "--config"):
        check_snakemake(words if first == "snakemake" else [first, *words])
    elif first == "steptime":
        steptime.parsed(words)
    elif words[0] == "-m":
        check_module(words[1], words[2:])
    else:
        pytest.fail("it is not checked; teach this test to, or say what it needs")


def check_snakemake(words: list[str]) -> None:
    """Snakemake knows the options, the workflow its rules, and the configuration its settings."""
    given = parse_args(words)[1]
    texts = [file.read_text() for file in (ROOT / "rules").glob("*.smk")]
    rules = set(re.findall(r"^rule (\w+):", "\n".join(texts), re.MULTILINE))
    assert {name for name in given.forcerun or [] if "/" not in name} <= rules
    make_plan(configured([*ELSEWHERE, *(given.config or [])]), Path("nowhere"))


def check_module(module: str, words: list[str]) -> None:
    """The module is there, and its help knows the subcommand and the options."""
    assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
    if words:
        chosen = takewhile(lambda word: not word.startswith("-"), words)
        status, said = served_stage(ROOT, module, *chosen, "--help")
        assert status == 0
        assert [word for word in words if word.startswith("-") and word not in said] == []


HERE = (
    r"make (report|status|unlock|assemble)",
    r'make (status|assemble) CONFIG="suite=assignment"',
    r"snakemake --cores 1 report\.md --config tag=after-upgrade",
    r"snakemake --cores 1 results/quickstart/timelines/mini-ctx128-fp32\.svg",
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
}


@pytest.mark.workflow
def test_documented_commands_end_well(project: Project) -> None:
    """Each once, one after another, in a project whose config.yaml has the smoke suite's settings.

    The report is dropped before those that make it.
    """
    settings = "\n".join(setting.replace("=", ": ") for setting in SUITE)
    project.edit("config.yaml", "suite: quickstart\n", f"{settings}\n")
    shutil.copy(ROOT / "Makefile", project.folder)
    environment = os.environ | project.serve_snakemake()
    commands = {each for each in documented() if any(re.fullmatch(one, each) for one in HERE)}
    for old, new in SMALL.items():
        commands = {re.sub(old, new, command) for command in commands}
    assert len(commands) >= 6
    for command in sorted(commands):
        made = re.findall(r"results\S+\.(?:json|svg)", command)
        if re.search(r"\b(report|assemble)\b", command):
            made.append("report.md")
            (project.folder / "report.md").unlink(missing_ok=True)
        status, said = run_and_wait(["bash", "-c", command], project.folder, environment)
        assert status == 0, f"{command}: {said}"
        assert [file for file in made if not (project.folder / file).is_file()] == [], said
