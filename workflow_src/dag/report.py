"""The report: what it and its figures are made from, and all that belongs to it."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers.questions import FRONT, OPENING, QUESTIONS, REPORT_TABLES, Question
from workflow_src.dag.ceilings import Ceilings
from workflow_src.dag.paths import PAGE, ROOT_FILES, TEMPLATES, made_for_another, results_of
from workflow_src.dag.studies import Studies
from workflow_src.dag.timelines import Timelines
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.suites import Plan
from workflow_src.studies.study import STUDIES

FORMS = ("md", "html", "appendix.md", "appendix.html", "json")
"""The files of a chapter: an answer, the cards, a study's section."""

BODIES = [f"{TEMPLATES}/report.{form}.j2" for form in ("md", "html")]
"""The templates that set chapters one after another; the page's own stand around the second."""

APPENDIX = [f"{TEMPLATES}/appendix.md.j2"]


@dataclass(frozen=True)
class Report:
    """The report of a plan."""

    plan: Plan
    ceilings: Ceilings
    studies: Studies
    timelines: Timelines

    def opening_inputs(self) -> dict[str, list[str]]:
        """The inputs of the opening: tables, and what the answers say."""
        return {
            **self._chapter(OPENING),
            "answers": [f"results/{{tag}}/answers/{question}.json" for question in QUESTIONS],
        }

    def front_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of another chapter beside the answers; trust's are studies' tables, too."""
        chosen = self.studies.chosen if wildcards.front == "trust" else ()
        studies = [f"results/{{tag}}/tables/studies/{name}.csv" for name in chosen]
        return {**self._chapter(FRONT[wildcards.front]), "studies": studies}

    def _chapter(self, asked: Question) -> dict[str, list[str]]:
        own = f"{TEMPLATES}/report/{asked.room}.j2"
        return {
            "tables": [f"results/{{tag}}/tables/{name}.csv" for name in asked.tables],
            "plan": ["results/{tag}/plan.csv"],
            "templates": [own, *map(str, sorted(TEMPLATES.glob("chapter.*")))],
            "ceilings": self.ceilings.table() if "ceilings" in asked.optional else [],
        }

    def chapters(self) -> list[str]:
        """The Markdown of the report's chapters, in their order."""
        results = results_of(self.plan)
        answers = [f"{results}/answers/{name}.md" for name in QUESTIONS]
        studies = [f"{results}/sections/{name}.md" for name in self.studies.chosen]
        after = [f"{results}/answers/{name}.md" for name in (*FRONT, "cards")]
        return [f"{results}/answers/opening.md", *answers, *studies, *after]

    def others(self) -> list[str]:
        """The studies of this project's model that were not chosen; none of a brought one."""
        left = [name for name in STUDIES if name not in self.studies.chosen]
        return [] if self.plan.settings["workload"] else left

    def appendix_inputs(self) -> dict[str, list[str]]:
        """The inputs of the appendix, which are some of the report's."""
        chapters = self.chapters()
        forms = [path.removesuffix("md") + form for path in chapters for form in FORMS[1:]]
        return {"chapters": chapters, "forms": forms, "templates": APPENDIX}

    def inputs(self) -> dict[str, list[str]]:
        """The inputs of the report."""
        shown = self.timelines.shown()
        return {
            **self.appendix_inputs(),
            "templates": [*BODIES, *PAGE],
            "timelines": [f"{results_of(self.plan)}/timelines/{case}.svg" for case in shown],
            "appendix": list(self.files("appendix")),
        }

    def files(self, part: str) -> tuple[str, ...]:
        """The files of a part, "report" or "appendix"."""
        return ROOT_FILES if part == "report" else (f"{results_of(self.plan)}/appendix.md",)

    def asked(self, part: str) -> str:
        """What a part is made for, as a param and as the note at the end of its files.

        A hash of the run's name and of its inputs.
        """
        inputs = self.inputs() if part == "report" else self.appendix_inputs()
        return hashlib.sha256(json.dumps([self.plan.tag, inputs]).encode()).hexdigest()[:12]

    def made_for_another(self, part: str, ancient: Callable[[str], str]) -> str:
        """An input that has a part made again if one of its files was made for anything else."""
        return made_for_another(self.files(part), self.asked(part), ancient)

    def ending(self) -> str:
        """What stands first in the report, in bold, and where to open it; "" without a report."""
        report, page = (Path(name) for name in ROOT_FILES)
        if not report.is_file():
            return ""
        bold = re.search(r"^\*\*(.+?)\*\*$", report.read_text(encoding="utf-8"), re.M)
        said = bold[1].replace("\\", "") + "\n" if bold else ""
        return f"\n{said}The report: {report}, and for a browser {page.resolve().as_uri()}"

    def everything(self) -> list[str]:
        """All that the report consists of, and the tables that it is made from."""
        results, inputs = results_of(self.plan), self.inputs()
        drawn = ["opening", *(f"answer_{question}" for question in QUESTIONS)]
        drawn += [f"study_{name}" for name in self.studies.chosen]
        made = [f"{results}/figures/{name}.svg" for name in drawn]
        made += [f"{results}/tables/{name}.csv" for name in REPORT_TABLES]
        made += [path for part in ("chapters", "timelines") for path in inputs[part]]
        return [*ROOT_FILES, *self.files("appendix"), *made, *self.ceilings.table()]
