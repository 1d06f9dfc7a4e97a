"""The companion studies: their points, what these take, and what their sections are made from."""

import importlib
import json
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.errors import ConfigError
from workflow_src.dag.ceilings import made
from workflow_src.dag.paths import TEMPLATES
from workflow_src.dag.wildcards import Wildcards, known
from workflow_src.plan.suites import Plan
from workflow_src.studies.points import points
from workflow_src.studies.study import BESIDE, STUDIES, Point

STUDY_FILES = Path(__file__).parent.parent / "studies"

MEMORY_MIB = 16384
MINUTES = 30


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
        name = known("study", study, STUDIES)
        # Imported by name: only the chosen studies are loaded, and a new one needs no import here.
        about = self.plan.device, self._scale, self.plan.settings
        if (STUDY_FILES / name / "points.yaml").is_file():
            found = points(name, *about)
        else:
            module = importlib.import_module(f"workflow_src.studies.{name}.points")
            found = module.points(*about)
        if not found:
            sizes = ", ".join(self.plan.settings["sizes"])
            raise ConfigError(f"studies: {name!r} measures none of the configured sizes ({sizes})")
        limit = {"memory_limit_gib": self.plan.settings["memory_limit_gib"]}
        common = {"device": self.plan.device, **self.plan.threads, **limit}
        return {point["point"]: point | common for point in found}

    @property
    def _scale(self) -> str:
        scale = str(self.plan.settings["study_scale"])
        automatic = "full" if self.plan.device == "cuda" else "small"
        return automatic if scale == "auto" else scale

    def point(self, wildcards: Wildcards) -> str:
        """A study's point as JSON. Raises ConfigError for an unknown one."""
        points = self.points(wildcards.study)
        return json.dumps(points[known(f"point of {wildcards.study}", wildcards.point, points)])

    def gpus(self, wildcards: Wildcards) -> int:
        """How many devices a study's point measures on."""
        points = self.points(wildcards.study)
        return int(
            points[known(f"point of {wildcards.study}", wildcards.point, points)].get("gpus", 1)
        )

    def memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory (MiB) to request from a cluster for a study's point; grows with each attempt."""
        return attempt * MEMORY_MIB

    def minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Minutes to request from a cluster for a study's point; grows with each attempt."""
        return attempt * MINUTES

    def measured(self, study: str) -> list[str]:
        """Paths of a study's measured points, with {tag} left as a wildcard."""
        return [f"results/{{tag}}/studies/{study}/{point}.json" for point in self.points(study)]

    def table_points(self, wildcards: Wildcards) -> list[str]:
        """The measured points that a study's table is made from."""
        return self.measured(wildcards.study)

    def section_module(self, wildcards: Wildcards) -> str:
        """The module that writes a study's section."""
        return f"workflow_src.studies.{known('study', wildcards.study, STUDIES)}.chapter"

    def section_beside(self, wildcards: Wildcards) -> list[str]:
        """The table of the run that a study's section is held against, if any."""
        name = BESIDE.get(wildcards.study, "")
        return made(self.plan, name, name) if name else []

    def section_templates(self, wildcards: Wildcards) -> list[str]:
        """The templates of a study's section: its own, that of conditions, and all chapters'."""
        own = [TEMPLATES / "studies" / f"{name}.j2" for name in (wildcards.study, "_conditions")]
        return [str(path) for path in (*own, *sorted(TEMPLATES.glob("chapter.*")))]
