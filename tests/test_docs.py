"""Every command in the documentation is one that works, as far as that can be known without it.

Options, settings and targets of snakemake, arguments of `python -m`, and targets of make with what
they run.
"""

import re
import shlex
import subprocess
from itertools import takewhile
from pathlib import Path

import pytest
from snakemake.cli import parse_args

from tests.workflow import ROOT, served_stage
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
        said = subprocess.run(["make", "-n", *words], check=True, capture_output=True, text=True)
        for line in said.stdout.replace("\\\n", " ").splitlines():
            if line.startswith("snakemake "):
                check_snakemake(shlex.split(re.split(r" [>|]| --config *$", line)[0])[1:])
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
    named = {name for name in given.forcerun or [] if "/" not in name}
    assert named | {*(given.allowed_rules or [])} <= rules
    make_plan(configured([*ELSEWHERE, *(given.config or [])]), Path("nowhere"))


def check_module(module: str, words: list[str]) -> None:
    """The module is there, and its help knows the subcommand and the options."""
    assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
    if words:
        chosen = takewhile(lambda word: not word.startswith("-"), words)
        status, said = served_stage(ROOT, module, *chosen, "--help")
        assert status == 0
        assert [word for word in words if word.startswith("-") and word not in said] == []
