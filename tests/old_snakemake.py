"""A working copy that is run with Snakemake 7, from an environment of its own."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.slurm import CLUSTER
from tests.workflow import ROOT, SUITE, Project, make_project, run_and_wait, stage_server

ENVIRONMENT = Path(os.environ.get("SNAKEMAKE7_ENVIRONMENT", ROOT / ".venv7"))


def documented(version: str) -> list[str]:
    """The arguments of the command that docs/slurm.md names for `version`."""
    lines = (ROOT / "docs" / "slurm.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (command,) = [row[1].strip("`") for row in rows if row[0] == version]
    return shlex.split(command)[1:]


THROUGH_SLURM = documented("7.32.4")


@dataclass(frozen=True)
class Old(Project):
    """A working copy, run with the old Snakemake."""

    config: tuple[str, ...] = CLUSTER

    def run(self, *arguments: str, check: bool = True, **watch: str) -> str:
        path = f"{self.folder / 'bin'}:{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
        command = ["snakemake", *arguments, "--config", *SUITE, *self.config]
        environment = os.environ | self.settings | {"PATH": path, "WATCH_LOG": str(self.log)}
        if "-n" not in arguments:
            environment["WATCH_SERVER"] = stage_server(str(ENVIRONMENT / "bin" / "python"))
        status, printed = run_and_wait(command, self.folder, environment)
        assert check == (status == 0), printed
        return printed


def require_snakemake7() -> None:
    """Skip the test without Snakemake 7; fail it instead if REQUIRE_SNAKEMAKE7 is set."""
    if not (ENVIRONMENT / "bin" / "snakemake").exists():
        reason = f"no Snakemake 7 in {ENVIRONMENT}; install it with make .venv7/installed"
        (pytest.fail if os.environ.get("REQUIRE_SNAKEMAKE7") else pytest.skip)(reason)


def make_old(folder: Path, **settings: str) -> Old:
    require_snakemake7()
    project = Old(make_project(folder).folder, settings)
    for script in ("bin/python", "bin/program"):
        project.edit(script, sys.executable, str(ENVIRONMENT / "bin" / "python"))
    return project
