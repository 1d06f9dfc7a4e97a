"""The cases: what is measured of each, what that takes, and which of them are joined."""

import json
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.case import AnyCase, case_of
from workflow_src.dag.paths import results_of
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan import resources
from workflow_src.plan.suites import Plan


@dataclass(frozen=True)
class Cases:
    """The cases of a plan."""

    plan: Plan

    def benchmark_row(self, wildcards: Wildcards) -> str:
        """The plan row that a benchmark depends on, as JSON."""
        return json.dumps(self.plan.benchmark_row(wildcards.case))

    def benchmark_module(self, wildcards: Wildcards) -> str:
        """The module that benchmarks a case in as many processes as its row says."""
        several = self.plan.benchmark_row(wildcards.case)["processes"] > 1
        return f"workflow_src.measure.benchmark{'_processes' if several else ''}"

    def capture_row(self, wildcards: Wildcards) -> str:
        """The plan row that a capture depends on, as JSON."""
        return json.dumps(self.plan.capture_row(wildcards.case))

    def memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for measuring a case; grows with each attempt."""
        return attempt * resources.memory_mib(self._case(wildcards))

    def minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for measuring a case; grows with each attempt."""
        steps = resources.case_steps(self.plan.settings, self.plan.device)
        return attempt * resources.minutes(self._case(wildcards), steps)

    def _case(self, wildcards: Wildcards) -> AnyCase:
        return case_of(self.plan.benchmark_row(wildcards.case))

    def to_join(self) -> list[str]:
        """All planned cases; with allow_missing, only the measured ones, if there are any."""
        every = self.plan.case_ids
        measured = [case_id for case_id in every if self._measured(case_id)]
        return measured if measured and self.plan.settings["allow_missing"] else every

    def _measured(self, case_id: str) -> bool:
        results = results_of(self.plan)
        benchmark = Path(results, "benchmark", f"{case_id}.json")
        capture = Path(results, "capture", case_id + self.plan.capture_suffix)
        return benchmark.is_file() and capture.is_file()
