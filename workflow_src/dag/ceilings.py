"""The ceilings of the machine: what is measured of them, and who may take their table."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from workflow_src.dag.paths import results_of
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan import resources
from workflow_src.plan.suites import Plan


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of the machine that a plan is measured on."""

    plan: Plan

    def point(self, wildcards: Wildcards) -> str:
        """What to measure of the ceilings of this run's machine, as JSON."""
        return json.dumps(self.plan.ceilings_point())

    def memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for the ceilings; grows with each attempt."""
        return attempt * resources.FIXED_MIB[self.plan.device]

    def minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for the ceilings; grows with each attempt."""
        return attempt * resources.FIXED_MINUTES

    def table(self) -> list[str]:
        """The table of ceilings as an input, if it's there or may be made.

        Runs measured before there was one are rewritten and assembled without it.
        """
        return made(self.plan, "ceilings", "ceilings")

    def remedies(self) -> list[str]:
        """The table of remedies, which rests on that of ceilings, likewise."""
        return made(self.plan, "remedies", "remedies")


def made(plan: Plan, name: str, rule: str) -> list[str]:
    """A joined table as an input, if it's there or a rule may make it."""
    table = f"{results_of(plan)}/tables/{name}.csv"
    return [table] if measures(rule) or Path(table).is_file() else []


def measures(rule: str) -> bool:
    """Whether this call of snakemake may run a rule: all may, unless --allowed-rules says which."""
    options = [word.partition("=")[0] for word in sys.argv]
    return "--allowed-rules" not in options or rule in sys.argv
