"""The timelines: the steps of which cases the report shows as pictures."""

from dataclasses import dataclass
from pathlib import Path

from workflow_src.dag.cases import Cases
from workflow_src.dag.ceilings import measures
from workflow_src.dag.paths import results_of
from workflow_src.plan.suites import Plan


@dataclass(frozen=True)
class Timelines:
    """The timelines of a plan's cases."""

    plan: Plan
    cases: Cases

    def shown(self) -> list[str]:
        """The cases whose timelines are part of the report: the first and the last of the plan.

        Left out where a case's tables are there, its own or joined, and its capture isn't, as in a
        published run, or may not be made: a report made again from tables measures nothing.
        """
        cases = self.cases.to_join()
        return [case for case in dict.fromkeys((cases[0], cases[-1])) if self._possible(case)]

    def _possible(self, case: str) -> bool:
        results = results_of(self.plan)
        capture = Path(results, "capture", case + self.plan.capture_suffix)
        export = Path(results, "export", case)
        to_measure = measures("capture") and not self._tabulated(case)
        return capture.is_file() or export.is_dir() or to_measure

    def _tabulated(self, case: str) -> bool:
        tables = Path(results_of(self.plan), "tables")
        joined = tables / "captures.csv"
        # Not kernels.csv, which has no rows of a case that ran out of memory.
        lines = joined.read_bytes().splitlines() if joined.is_file() else []
        return (tables / case).is_dir() or any(
            line.startswith(f"{case},".encode()) for line in lines
        )
