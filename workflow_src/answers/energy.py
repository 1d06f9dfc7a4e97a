"""The energy of the device that a step of each phase takes; see measure/energy.py."""

import pandas as pd

from workflow_src.answers.facts import KEY
from workflow_src.common.case import PHASES
from workflow_src.paper.number import Numbers, to, within
from workflow_src.paper.run import Run, keyed


def energy(run: Run) -> pd.DataFrame:
    """By case and phase `joules` of a step and `per_token` (mJ), with their ends."""
    rows = keyed(run.numbers("timings"), KEY)
    ends = [rows[f"joules_{end}"] for end in ("least", "most")]
    joules = within(rows["joules_per_step"], *ends)
    a_token = [to(each / rows["tokens_per_step"], "mJ") for each in (joules, *ends)]
    found = {"joules": joules, "per_token": within(*a_token)}
    return pd.DataFrame(found, rows.index, dtype=object)


def opened(run: Run) -> dict[str, tuple[Numbers, str]]:
    """The row of the report's table of medians."""
    found = energy(run)
    steps = found[found.index.get_level_values("phase") == PHASES[-1]].droplevel("phase")
    known = steps["per_token"].reindex(run.cases.index).astype(object)
    return {"energy of a training step, mJ a token": (known, "median")}
