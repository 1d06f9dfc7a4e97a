"""What a run measures: cases, ceilings, studies' points."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.errors import ConfigError
from workflow_src.dag.paths import Wildcards, chapter_templates, known, made, measures
from workflow_src.plan.drift import MEASURE_AGAIN, drift, here
from workflow_src.plan.suites import Plan
from workflow_src.studies.points import points
from workflow_src.studies.study import BESIDE, STUDIES, Point

HOST_MIB = {"cpu": 16384, "cuda": 8192}
"""Memory to request from a cluster: Python with torch and, on CUDA, the host memory of a context
and of a profiler's buffers; on a CPU, also of a step."""


@dataclass(frozen=True)
class Studies:
    """The studies of a plan."""

    plan: Plan

    @property
    def chosen(self) -> list[str]:
        """In the report's order."""
        return [name for name in STUDIES if name in self.plan.settings["studies"]]

    def points(self, study: str) -> dict[str, Point]:
        """Points by id. Raises ConfigError for an unknown study, or one of no configured size."""
        name, settings = known("study", study, STUDIES), self.plan.settings
        scale = settings["study_scale"]
        if scale == "auto":
            scale = "full" if self.plan.device == "cuda" else "small"
        found = points(name, self.plan.device, scale, settings)
        if not found:
            sizes = ", ".join(settings["sizes"])
            raise ConfigError(f"studies: {name!r} measures none of the configured sizes ({sizes})")
        common = {"device": self.plan.device, **self.plan.threads}
        common["memory_limit_gib"] = settings["memory_limit_gib"]
        return {point["point"]: point | common for point in found}

    def point(self, wildcards: Wildcards) -> str:
        """A point as JSON. Raises ConfigError for an unknown one."""
        points = self.points(wildcards.study)
        return json.dumps(points[known(f"point of {wildcards.study}", wildcards.point, points)])

    def measured(self, study: str) -> list[str]:
        """Paths of a study's measured points, with {tag}."""
        return [f"results/{{tag}}/studies/{study}/{point}.json" for point in self.points(study)]

    def section_beside(self, wildcards: Wildcards) -> list[str]:
        """The table that a study's section is held against, if any."""
        name = BESIDE.get(wildcards.study)
        return made(self.plan, name) if name else []

    def section_templates(self, wildcards: Wildcards) -> list[str]:
        """The templates of a study's section."""
        return chapter_templates(f"studies/{wildcards.study}", "studies/_conditions")


@dataclass(frozen=True)
class Measured:
    """The measurements of a plan."""

    plan: Plan
    studies: Studies

    def memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """MiB to request for a case, or the ceilings."""
        return attempt * HOST_MIB[self.plan.device]

    def to_join(self) -> list[str]:
        """All cases; with allow_missing, those measured here or copied as tables."""
        every, tables = self.plan.case_ids, Path(self.plan.results) / "tables"
        there = [
            case
            for case in every
            if all(map(Path.is_file, self._files(case))) or (tables / case).is_dir()
        ]
        return there if there and self.plan.settings["allow_missing"] else every

    def _files(self, case: str) -> list[Path]:
        """The benchmark and the capture of a case."""
        results = Path(self.plan.results)
        capture = results / "capture" / f"{case}{self.plan.capture_suffix}"
        return [results / "benchmark" / f"{case}.json", capture]

    def timelines(self) -> list[str]:
        """The cases whose steps the report shows as pictures: the first and the last.

        Not where a case's tables are there, its own or joined, and its capture isn't, as in a
        published run, or may not be made: a report made again from tables measures nothing.
        """
        cases = self.to_join()
        return [case for case in dict.fromkeys((cases[0], cases[-1])) if self._drawable(case)]

    def _drawable(self, case: str) -> bool:
        results = Path(self.plan.results)
        if self._files(case)[1].is_file() or (results / "export" / case).is_dir():
            return True
        joined = results / "tables" / "captures.csv"
        # Not kernels.csv, which has no rows of a case that ran out of memory.
        lines = joined.read_bytes().splitlines() if joined.is_file() else []
        tabulated = any(line.startswith(f"{case},".encode()) for line in lines)
        return measures("capture") and not tabulated and not (results / "tables" / case).is_dir()

    def environments(self, wildcards: Wildcards) -> list[str]:
        """The files with environments, of the cases or of a study's points."""
        if wildcards.part != "cases":
            return self.studies.measured(wildcards.part)
        return [f"results/{{tag}}/tables/{case}/environments.csv" for case in self.to_join()]

    def files(self) -> list[Path]:
        """All files that this run measures."""
        points = [file for name in self.studies.chosen for file in self.studies.measured(name)]
        points += ["results/{tag}/ceilings.json"]
        cases = [file for case in self.plan.case_ids for file in self._files(case)]
        return cases + [Path(file.format(tag=self.plan.tag)) for file in points]

    def drift(self, remade: Iterable[Path] = ()) -> str:
        """How this machine differs from what measured what is here but `remade`, or "".

        On a cluster, where other machines measure, environments are compared afterwards.
        """
        settings = self.plan.settings
        there = sorted(path for path in {*self.files()}.difference(remade) if path.is_file())
        if settings["cluster"] or settings["mixed_environments"] or not there:
            return ""
        return drift(there, here(self.plan.device))

    def refuse_drift(self, outputs: Iterable[str]) -> None:
        """Exit with a sentence if making `outputs` would measure beside results that differ."""
        made = {Path(str(output)) for output in outputs}
        if made.intersection(self.files()) and (found := self.drift(made)):
            raise SystemExit(
                f"config: {self.plan.results}/ can't be added to. {found}. Measure all of it "
                f"again by adding {MEASURE_AGAIN} to the same command, or keep it and measure the "
                "rest under another tag (--config tag=...)"
            )
