"""The environments of all that a run measures: which files record them, and whether they differ."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workflow_src.dag.cases import Cases
from workflow_src.dag.paths import results_of
from workflow_src.dag.studies import Studies
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.drift import MEASURE_AGAIN, drift, here
from workflow_src.plan.suites import Plan


@dataclass(frozen=True)
class Environments:
    """The environments that a plan's cases, points and ceilings were measured in."""

    plan: Plan
    cases: Cases
    studies: Studies

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """The files that hold the environments of the cases or of a study's points."""
        if wildcards.part != "cases":
            return self.studies.measured(wildcards.part)
        cases = self.cases.to_join()
        return [f"results/{{tag}}/tables/{case}/environments.csv" for case in cases]

    def measurements(self) -> list[Path]:
        """All files that this run measures."""
        results = results_of(self.plan)
        cases = [
            Path(results, folder, case + suffix)
            for case in self.plan.case_ids
            for folder, suffix in (("benchmark", ".json"), ("capture", self.plan.capture_suffix))
        ]
        points = [file for name in self.studies.chosen for file in self.studies.measured(name)]
        points += [f"{results}/ceilings.json"]
        return cases + [Path(file.format(tag=self.plan.tag)) for file in points]

    def drift(self, remade: Iterable[Path] = ()) -> str:
        """How this machine differs from the one that measured what is here; "" if it doesn't.

        `remade` is left out. On a cluster, where the measuring machines are others, environments
        are compared after measuring.
        """
        settings = self.plan.settings
        kept = set(self.measurements()).difference(remade)
        there = sorted(path for path in kept if path.is_file())
        if settings["cluster"] or settings["mixed_environments"] or not there:
            return ""
        return drift(there, here(self.plan.device))

    def refuse_drift(self, outputs: Iterable[str]) -> None:
        """Exit with a sentence if making `outputs` would measure beside results that differ."""
        made = {Path(str(output)) for output in outputs}
        if made.intersection(self.measurements()) and (found := self.drift(made)):
            raise SystemExit(
                f"config: {results_of(self.plan)}/ can't be added to. {found}. Measure all of it "
                f"again by adding {MEASURE_AGAIN} to the same command, or keep it and measure the "
                "rest under another tag (--config tag=...)"
            )
