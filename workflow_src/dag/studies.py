"""The companion studies: their points, what these take, and what their sections are made from."""

import json
from dataclasses import dataclass

from workflow_src.common.errors import ConfigError
from workflow_src.dag.paths import Wildcards, chapter_templates, known, made
from workflow_src.plan.suites import Plan
from workflow_src.studies.points import points
from workflow_src.studies.study import BESIDE, STUDIES, Point


@dataclass(frozen=True)
class Studies:
    """The studies of a plan."""

    plan: Plan

    @property
    def chosen(self) -> list[str]:
        """The chosen studies, in the report's order."""
        return [name for name in STUDIES if name in self.plan.settings["studies"]]

    def points(self, study: str) -> dict[str, Point]:
        """The points of a study by id.

        Raises ConfigError for an unknown study, or one that measures no configured size.
        """
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
        """A study's point as JSON. Raises ConfigError for an unknown one."""
        points = self.points(wildcards.study)
        return json.dumps(points[known(f"point of {wildcards.study}", wildcards.point, points)])

    def measured(self, study: str) -> list[str]:
        """Paths of a study's measured points, with {tag} left as a wildcard."""
        return [f"results/{{tag}}/studies/{study}/{point}.json" for point in self.points(study)]

    def section_beside(self, wildcards: Wildcards) -> list[str]:
        """The table of the run that a study's section is held against, if any."""
        name = BESIDE.get(wildcards.study)
        return made(self.plan, name) if name else []

    def section_templates(self, wildcards: Wildcards) -> list[str]:
        """The templates of a study's section: its own, that of conditions, and all chapters'."""
        return chapter_templates(f"studies/{wildcards.study}", "studies/_conditions")
