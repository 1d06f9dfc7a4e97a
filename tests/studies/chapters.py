"""Small tables of studies, and what their chapters make of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from tests.published import EXAMPLES
from workflow_src.common.words import DASH
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, Written, write
from workflow_src.studies.facts import facts_of, templates_of

TEMPLATES = EXAMPLES.parent / "report_templates"
WRITTEN = tuple(
    path.stem for path in sorted(TEMPLATES.glob("studies/[!_]*.j2")) if path.stem.isalpha()
)
"""The studies whose chapter is one function and one template."""


def table(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """The table of rows, which were measured unless they say otherwise; its header is line 1."""
    about = {"point": "p", "status": "ok", "reason": None}
    made = pd.DataFrame([about | dict(row) for row in rows])
    return made.set_index(pd.RangeIndex(2, len(made) + 2))


def run_of(study: str, table: pd.DataFrame, ceilings: pd.DataFrame | None = None) -> Run:
    """A run with the table of a study and, maybe, ceilings, as it is read."""
    with TemporaryDirectory() as folder:
        files = {f"studies/{study}": table, "ceilings": ceilings}
        (Path(folder) / "studies").mkdir()
        for name, frame in files.items():
            if frame is not None:
                frame.to_csv(Path(folder, f"{name}.csv"), index=False)
        run = Run.of(Path(folder))
        for name in run.files:
            assert run[name] is not None
        return run


def facts(study: str, rows: Sequence[Mapping[str, Any]] | pd.DataFrame) -> Facts:
    """What a study's chapter says of rows, with its conditions."""
    return facts_of(study, run_of(study, pd.DataFrame(rows)))


def chapter(study: str, run: Run, picture: Path | None = None) -> Written:
    make = partial(facts_of, study, run)
    return write(study, make, TEMPLATES, templates_of(study), picture)


def texts(cells: pd.Series) -> list[str]:
    return [DASH if cell is None or cell != cell else str(cell) for cell in cells]
