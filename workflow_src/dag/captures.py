"""Captures of other programs: which files they are, and the report of them all."""

import csv
import glob
import hashlib
import json
import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workflow_src.captures.torch_ranks import jobs
from workflow_src.common.errors import ConfigError
from workflow_src.common.nsys_folder import table_files
from workflow_src.common.printable import printable
from workflow_src.common.table_schema import tables_in
from workflow_src.dag.paths import (
    PAGE,
    ROOT_FILES,
    TEMPLATES,
    Wildcards,
    another_run,
    known,
    made_for_another,
)

RESULTS = "results/captures"
TABLES = tables_in("capture")
REPORT_OF_NSYS = ".nsys-rep"
ODD = re.compile(r"[{}<>\ud800-\udfff]")
"""What an input's name can't have: to Snakemake, {b} is a wildcard and <b> a path set elsewhere,
and it can't write bytes that aren't UTF-8, for which surrogates stand."""
SUFFIXES = re.compile(r"(\.nsys-rep|\.sqlite|\.json|\.pt\.trace|\.trace|\.gz|_arwdir|_pqtdir)+\Z")
ENDS = (SUFFIXES, re.compile(r"\.gz\Z"), re.compile(r"(?!)"))
"""What a name leaves of its file's off, one instead of the other where that tells files apart."""
LONGEST = 255
"""Letters of a file's name."""
UNREADABLE = "unreadable"
"""The note in notes.csv of a capture that can't be read, which is about why."""


@dataclass(frozen=True)
class Captures:
    """The captures that are reported instead of a suite, by name; none if there are none.

    files: those of each, or a folder; several are traces of ranks of one job. apart: captures that
    may be of another one's job, without evidence. step_ms: the time of a step without a profiler,
    of all captures or by name.
    """

    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    fold: str = ""
    domains: tuple[str, ...] = ()
    step: str = ""
    step_ms: float | Mapping[str, float] = field(default_factory=dict)
    limits: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """The arguments that say how captures are read, also the empty ones, quoted."""
        given = [f"--fold={self.fold}", f"--step={self.step}", *self.limits]
        given += [f"--domains={','.join(self.domains)}"] if self.domains else []
        return shlex.join(given)

    def own_options(self, wildcards: Wildcards) -> str:
        """The arguments of a capture's own: the time of its step without a profiler, and apart."""
        known_ms = self.step_ms
        ms = known_ms.get(wildcards.capture) if isinstance(known_ms, Mapping) else known_ms
        given = [f"--step-ms={ms:g}"] if ms else []
        return " ".join(given + ["--apart"] * (wildcards.capture in self.apart))

    def _files(self, wildcards: Wildcards) -> tuple[str, ...]:
        """The files of a capture. Raises ConfigError for a name that isn't among them."""
        return self.files[known("captures", wildcards.capture, self.files)]

    def _exported(self, wildcards: Wildcards) -> list[str]:
        """What the tables of a report of nsys are read from; none of another capture."""
        is_report = self._files(wildcards)[0].endswith(REPORT_OF_NSYS)
        return [f"{RESULTS}/{wildcards.capture}/export.sqlite"] * is_report

    def argument(self, wildcards: Wildcards) -> str:
        """The first file of a capture as a command takes it."""
        return _no_option(self._files(wildcards)[0])

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """What the tables of a capture are read from as a command takes it."""
        return list(map(_no_option, self._exported(wildcards) or self._files(wildcards)))

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Its files: all of a folder, whose own time doesn't tell that one of them changed."""
        files = self._files(wildcards)
        return self._exported(wildcards) or [file for path in files for file in files_of(path)]

    def report(self, wildcards: Wildcards) -> list[str]:
        """Its report of nsys, if it can be read."""
        return files_of(self._files(wildcards)[0])

    def tried_again(self, ancient: Callable[[str], str]) -> Callable[[Wildcards], str]:
        """An input function: what has a capture read again if it couldn't be read the last time."""

        def again(wildcards: Wildcards) -> str:
            failed = _problem(wildcards.capture)
            return another_run(newer=True) if failed else ancient(another_run(newer=False))

        return again

    def problems(self) -> list[str]:
        """A line for each capture that couldn't be read: its name, and why."""
        problems = {name: _problem(name) for name in self.files}
        return [f"Capture {name} could not be read: {why}" for name, why in problems.items() if why]

    def templates(self) -> list[str]:
        """The templates of the report and its page."""
        own = sorted([*TEMPLATES.glob("capture*.j2"), *TEMPLATES.glob("capture/*.j2")])
        around = [f"{TEMPLATES}/chapter.{name}.j2" for name in ("appendix.html", "failed")]
        return [*map(str, own), *around, *PAGE]

    @property
    def asked(self) -> str:
        """What the report is made for, as the note at its end: a hash of names and files."""
        about = json.dumps([dict(self.files), self.fold, self.domains, self.step, self.step_ms])
        return hashlib.sha256(about.encode()).hexdigest()[:12]

    def made_for_another(self, ancient: Callable[[str], str]) -> str:
        """An input that has the report made again if it was made for anything else."""
        return made_for_another(ROOT_FILES, self.asked, ancient)


def _problem(name: str) -> str:
    """Why a capture couldn't be read the last time; "" if it could, or wasn't tried."""
    notes = Path(RESULTS, name, "notes.csv")
    if not notes.is_file():
        return ""
    with notes.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return next((row["about"] for row in rows if row["note"] == UNREADABLE), "")


def captures_of(
    patterns: Sequence[str],
    fold: str | None,
    domains: Iterable[str] = (),
    step: str | None = None,
    limits: Mapping[str, float | None] | None = None,
    step_ms: float | Mapping[str, float] | None = None,
) -> Captures:
    """The captures that the setting `captures` names, files or patterns of files.

    A file that isn't there or can't be read is one whose reader will say so, beside others that are
    there. `limits`: those of reading one (GiB), by argument. Raises ConfigError if there are no
    files, for a pattern without a file, or one too long to be a file's name, two files whose whole
    paths give one name, or a name in step_ms that no capture has.
    """
    found = {pattern: _fitting(pattern) for pattern in patterns}
    for pattern in (pattern for pattern, paths in found.items() if not paths):
        if len(pattern) > LONGEST:
            raise ConfigError(f"captures: {pattern[:50]!r}...: a longer name than files have")
        if glob.has_magic(pattern) or not any(found.values()):
            inside = f"; for the files in it: {pattern.rstrip('/')}/*" * Path(pattern).is_dir()
            raise ConfigError(
                f"captures: {pattern!r} isn't a file, nor a folder that nsys exported, and as a "
                f"pattern fits none{inside}"
            )
        found[pattern] = [pattern]
    files = dict.fromkeys(path.rstrip("/") for paths in found.values() for path in paths)
    if odd := next((file for file in files if ODD.search(file)), ""):
        why = "a name with {, }, < or >, or that isn't UTF-8; rename it"
        raise ConfigError(f"captures: {printable(odd)}: {why}")
    given = tuple(f"--{name}={value:g}" for name, value in (limits or {}).items() if value)
    named, apart = _of_jobs(names_of(list(files)))
    for name in step_ms if isinstance(step_ms, Mapping) else ():
        known("capture_step_ms", name, named)
    return Captures(named, apart, fold or "", tuple(domains), step or "", step_ms or {}, given)


def _no_option(path: str) -> str:
    """A path that no command takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def _fitting(pattern: str) -> list[str]:
    """What is there under a name or pattern, but for folders that are no captures."""
    paths = sorted(glob.glob(pattern))
    return [path for path in paths if not Path(path).is_dir() or files_of(path)]


def files_of(path: str) -> list[str]:
    """The file at a path, those of a folder that nsys exported, or none that can be read."""
    if Path(path).is_dir():
        return [str(file) for file in table_files(Path(path)).values()]
    return [path] if Path(path).is_file() and os.access(path, os.R_OK) else []


def _of_jobs(names: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """The files of each capture, those of ranks by the first one's name, and which are apart."""
    files = {Path(file): file for file in names}
    found, apart = {}, set()
    for job in jobs(list(files)):
        first, *more = (files[path] for path in job.files)
        name = f"{names[first]}-and-{len(more)}-more" if more else names[first]
        found[name] = (first, *more)
        apart |= {name} if job.apart else set()
    return found, frozenset(apart)


def names_of(paths: Sequence[str]) -> dict[str, str]:
    """The name of each capture's file; those that would have one name get longer ones together.

    Raises ConfigError if even their whole paths give one name.
    """
    alike = defaultdict[str, list[str]](list)
    for path in paths:
        alike[name_of(path)].append(path)
    found = dict[str, str]()
    for group in alike.values():
        levels = range(len(ENDS) * max(len(Path(path).parts) for path in group))
        apart = (n for n in levels if len({name_of(path, n) for path in group}) == len(group))
        level = next(apart, levels[-1])
        found |= {path: name_of(path, level) for path in group}
    for name in (name for name, times in Counter(found.values()).items() if times > 1):
        first, second, *_ = (path for path in paths if found[path] == name)
        raise ConfigError(
            f"captures: {first} and {second} have one name, {name}, and their tables would lie in "
            "one folder: rename one"
        )
    return {path: found[path] for path in paths}


def name_of(path: str, length: int = 0) -> str:
    """A capture's name: its file's, without suffixes and with letters that a path may have.

    A longer one keeps suffixes, or has the last folders before it, by turns.
    """
    folders, kept = divmod(length, len(ENDS))
    *above, file = Path(path).parts
    stem = ENDS[kept].sub("", file) or "capture"
    name = "-".join([*above[max(0, len(above) - folders) :], stem])
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-") or "capture"
