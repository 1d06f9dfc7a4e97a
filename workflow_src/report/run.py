"""A run as the report sees it: its tables, its plan, and the parts that others wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.questions import FRONT, QUESTIONS, REPORT_TABLES
from workflow_src.answers.tables import CaseKey, Tables, read_table
from workflow_src.common.errors import StageError, remake
from workflow_src.report.parts import Part, read_part

OPTIONAL = ("alignment", "ledger", "operators", "ceilings")
"""The tables that older runs lack, or that a run may do without."""


@dataclass(frozen=True)
class Sources:
    """Paths of what the report is made from."""

    tables: Path
    answers: Path
    templates: Path
    plan: Path
    sections: tuple[Path, ...] = ()
    timelines: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Run:
    """A suite's run under a tag. `settings`: those that differ from config.yaml, as --config's."""

    tag: str
    suite: str
    settings: tuple[str, ...]
    tables: Tables
    plan: pd.DataFrame
    front: tuple[Part, ...]
    answers: tuple[Part, ...]
    cards: Part
    studies: tuple[Part, ...]

    @property
    def results(self) -> str:
        """The folder of the run's results, as commands name it."""
        return f"results/{self.tag}"

    def card_of(self, case: CaseKey | None) -> Markup:
        """The page's card of a case, or of the first if that has none; "" without any card."""
        cards = self.cards.cases
        first = next(iter(cards.values()), Markup(""))
        return cards.get(case.case, first) if case else first

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that others wrote, in the order of the report."""
        return (*self.front, *self.answers, *self.studies, self.cards)


def read_run(sources: Sources, tag: str, suite: str, settings: Sequence[str] = ()) -> Run:
    """Read all but the figures. Raises StageError if something is missing, damaged or empty."""
    studies = [path.stem for path in sources.sections]
    tables = Tables.read(sources.tables, REPORT_TABLES, OPTIONAL)
    plan = read_table(sources.plan, "plan")
    if plan.empty:
        raise StageError(f"{sources.plan} is not a plan (no case); {remake(sources.plan)}")
    return Run(
        tag=tag,
        suite=suite,
        settings=tuple(settings),
        tables=tables.with_studies(sources.tables, studies),
        plan=plan,
        front=tuple(read_part(sources.answers, name) for name in ("opening", *FRONT)),
        answers=tuple(read_part(sources.answers, question) for question in QUESTIONS),
        cards=read_part(sources.answers, "cards"),
        studies=tuple(read_part(path.parent, path.stem) for path in sources.sections),
    )
