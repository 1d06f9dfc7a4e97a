"""Each phase of each case: its mean and deviation, and what torch.compile makes of it."""

import pandas as pd

from workflow_src.answers.facts import phases
from workflow_src.common.case import COMPILED, EAGER
from workflow_src.common.words import PHASES, STATES
from workflow_src.paper.number import Numbers, to
from workflow_src.paper.run import AXES, Run


def every_phase(run: Run) -> pd.DataFrame:
    """A row per case and phase: facts.phases, and `deviation` within a process (of several the
    median one's share of the mean)."""
    found = phases(run)
    deviation = (found["mean_ms"] * found["within_cv"]).combine_first(found["std_ms"])
    return found.assign(
        deviation=deviation.astype(object),
        reason=found["graph_break_reasons"].fillna(""),
        lost=found["state"].where(found["state"] != STATES["ok"], ""),
        name=found.index.get_level_values("case"),
        phase=found.index.get_level_values("phase").map(PHASES),
    ).reset_index(drop=True)


def measured(phases: pd.DataFrame) -> pd.DataFrame:
    """Those that were tried, with the mean or why there is none."""
    shown = phases["mean_ms"].where(phases["mean_ms"].notna(), phases["lost"])
    return phases.assign(shown=shown)[phases["state"] != STATES["not_measured"]]


def compiled(phases: pd.DataFrame) -> pd.DataFrame:
    """A row per phase of each compiled case, with `eager_` amounts of the case that isn't."""
    same = ["phase", *(name for name in AXES if name != "execution")]
    eager = phases[phases["execution"] == EAGER].drop_duplicates(same).set_index(same)
    found = phases[(phases["execution"] == COMPILED) & phases["unprofiled"].notna()]
    eager = eager.reindex(pd.MultiIndex.from_frame(found[same])).set_index(found.index)
    names = ["unprofiled", "busy", "launches", "memory"]
    found = found.join(eager[names].add_prefix("eager_"))
    saved: Numbers = found["eager_unprofiled"] - found["unprofiled"]
    pays = to(found["compile_ms"] / saved.where(saved > 0), "count")
    times = found["eager_unprofiled"] / found["unprofiled"]
    return found.assign(times=times, pays=pays, seconds=to(found["compile_ms"], "s"))
