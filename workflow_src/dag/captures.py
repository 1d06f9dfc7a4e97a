"""Captures of other programs: which files they are, and the report of them all."""

import glob
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_src.captures.torch_ranks import named_jobs
from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.errors import ConfigError, remake
from workflow_src.common.printable import printable
from workflow_src.dag.paths import PAGE, TEMPLATES, Wildcards, known

RESULTS = "results/captures"
ODD = re.compile(r"[{}<>\ud800-\udfff]")
"""Not in an input's name: to Snakemake, {b} is a wildcard and <b> a path set elsewhere; surrogates
stand for bytes that aren't UTF-8, which it can't write."""
UNREADABLE = "unreadable"
"""The note in notes.csv on why a capture can't be read."""


@dataclass(frozen=True)
class Captures:
    """The captures that are reported instead of a suite, if any.

    files: of each; several are traces of ranks of one job.
    """

    files: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, Any]

    @property
    def options(self) -> str:
        """The arguments that say how captures are read, also empty ones."""
        told = self.settings.get
        given = [f"--{name}={told(f'capture_{name}') or ''}" for name in ("fold", "step")]
        numbers = {"step-ms": told("capture_step_ms"), "memory-gib": told("capture_memory_gib")}
        given += [f"--{name}={number:g}" for name, number in numbers.items() if number]
        domains = told("capture_domains")
        return shlex.join(given + ([f"--domains={','.join(domains)}"] if domains else []))

    def _files(self, wildcards: Wildcards) -> tuple[str, ...]:
        return self.files[known("captures", wildcards.capture, self.files)]

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Its files as a command takes them."""
        # None that it takes for an option.
        return [f"./{path}" if path.startswith("-") else path for path in self._files(wildcards)]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Its files that can be read."""
        files = filter(os.path.isfile, self._files(wildcards))
        return [path for path in files if os.access(path, os.R_OK)]

    def problems(self) -> list[str]:
        """A line for each capture that couldn't be read."""
        every = [(name, Path(RESULTS, name, "notes.csv")) for name in self.files]
        return [
            f"Capture {name} could not be read: {row['about']}; {remake(notes)}"
            for name, notes in every
            for row in (csv_rows(notes) if notes.is_file() else ())
            if row["note"] == UNREADABLE
        ]

    def templates(self) -> list[str]:
        """Templates of the report and its page."""
        own = sorted([*TEMPLATES.glob("capture*.j2"), *TEMPLATES.glob("capture/*.j2")])
        around = [f"{TEMPLATES}/chapter.{name}.j2" for name in ("appendix.html", "failed")]
        return [*map(str, own), *around, *PAGE]


def captures_of(patterns: Sequence[str], settings: Mapping[str, Any]) -> Captures:
    """The captures that the setting `captures` names, also those that can't be read.

    Raises ConfigError for a pattern without a file, and for files whose paths give one name.
    """
    found = list[str]()
    for pattern in patterns:
        paths = [path for path in sorted(glob.glob(pattern)) if not os.path.isdir(path)]
        if not paths:
            raise ConfigError(
                f"captures: {pattern!r} isn't a file, and as a pattern fits none; of a folder, "
                "give the files: FOLDER/*"
            )
        found += paths
    files = dict.fromkeys(found)
    if odd := next((file for file in files if ODD.search(file)), ""):
        why = "a name with {, }, < or >, or that isn't UTF-8; rename it"
        raise ConfigError(f"captures: {printable(odd)}: {why}")
    jobs = named_jobs(list(files)).items()
    return Captures({name: tuple(map(str, job)) for name, job in jobs}, settings)
