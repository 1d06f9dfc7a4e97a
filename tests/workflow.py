"""A copy of the project in which to run snakemake, log its stages and make them fail."""

import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = ("Snakefile", "config.yaml", "rules", "profiles", "workflow_src", "report_templates")
SUITE = ("suite=smoke", "warmup_steps=1", "steps=2", "capture_steps=1")

# Replaces `python` in the rules: logs what runs, and makes chosen stages fail or be killed.
WATCH = """#!/bin/sh
echo "start $2 $(date +%s%N) $*" >> "$WATCH_LOG"
if [ "$WATCH_STAGE" = "$2" ] && { [ -z "$WATCH_CASE" ] || case "$*" in *"$WATCH_CASE"*) true;;
    *) false;; esac; }; then
    [ -n "$WATCH_KILL_S" ] || { echo "injected failure of $2" >&2; exit 1; }
    exec timeout -s KILL "$WATCH_KILL_S" PYTHON "$@"
fi
PYTHON "$@"; status=$?
echo "end $2 $(date +%s%N) $status" >> "$WATCH_LOG"
exit $status
"""


@dataclass(frozen=True)
class Project:
    """A working copy, and a log of what ran in it."""

    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "watch.log"

    def run(self, *arguments: str, check: bool = True, **watch: str) -> str:
        """Run snakemake and return its output. `watch` sets WATCH_STAGE, _CASE and _KILL_S."""
        watching = {f"WATCH_{key.upper()}": value for key, value in watch.items()}
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | watching | {"PATH": path, "WATCH_LOG": str(self.log)}
        target = (
            ()
            if any(a == "all" or a.startswith(("results/", "report.md")) for a in arguments)
            else ("report.md",)
        )
        command = ["snakemake", "--cores", "2", *target, *arguments]
        if "--config" not in arguments:
            command += ["--config", *SUITE]
        ended = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        printed = ended.stdout + ended.stderr
        assert not check or ended.returncode == 0, printed
        assert check or ended.returncode != 0, printed
        return printed

    def stale(self, *arguments: str) -> dict[str, int]:
        """The number of jobs of each rule that would run now."""
        printed = self.run("-n", *arguments)
        counts = re.findall(r"^(\w+) +(\d+)$", printed, flags=re.MULTILINE)
        return {rule: int(count) for rule, count in counts if rule not in ("total", "all")}

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new))

    def stages(self) -> list[str]:
        """The stages started so far, in order."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split()[1] for line in lines if line.startswith("start ")]

    def results(self) -> set[str]:
        """All result files except logs."""
        files = [path for path in self.folder.glob("results/**/*") if path.is_file()]
        names = {str(path.relative_to(self.folder)) for path in files}
        return {name for name in names if "/logs/" not in name} | {
            name for name in ("report.md", "report.html") if (self.folder / name).exists()
        }

    def copy(self, folder: Path) -> "Project":
        """Another working copy in the same state, including file times."""
        subprocess.run(["cp", "-a", f"{self.folder}/.", str(folder)], check=True)
        return Project(folder)


def make_project(folder: Path) -> Project:
    """A fresh working copy."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    watch = folder / "bin" / "python"
    watch.parent.mkdir()
    watch.write_text(WATCH.replace("PYTHON", sys.executable))
    watch.chmod(watch.stat().st_mode | stat.S_IEXEC)
    return Project(folder)
