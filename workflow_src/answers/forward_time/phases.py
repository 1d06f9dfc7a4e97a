"""Each phase of each case: its mean and deviation, and what torch.compile makes of it."""

import pandas as pd

from workflow_src.answers.facts import KEY, kernels, phases
from workflow_src.common.case import COMPILED, EAGER
from workflow_src.common.words import PHASES, STATES
from workflow_src.paper.number import Numbers, over, to
from workflow_src.paper.run import AXES, Run

TIMED = {"mean": "mean_ms", "std": "std_ms", "cv": "within_cv", "processes": "processes"}
TIMED |= {"samples": "samples", "compiling": "compile_ms", "graphs": "graphs"}
TIMED |= {"breaks": "graph_breaks", "reason": "graph_break_reasons"}


def every_phase(run: Run) -> pd.DataFrame:
    """A row per case and phase: facts.phases with TIMED, `deviation` within a process (of several
    the median one's share of the mean), and `kernels` a step."""
    found = phases(run)
    timed = run.numbers("timings").drop_duplicates(KEY).set_index(KEY).reindex(found.index)
    rows = pd.concat([kernels(run, name) for name in PHASES])
    found = found.assign(**{name: timed[column] for name, column in TIMED.items()})
    return found.assign(
        kernels=over(rows, KEY, "calls_per_step", unit="calls").reindex(found.index),
        deviation=(found["mean"] * found["cv"]).combine_first(found["std"]).astype(object),
        reason=found["reason"].fillna(""),
        lost=found["state"].where(found["state"] != STATES["ok"], ""),
        memory=to(timed["peak_memory_mib"], "GiB"),
        name=found.index.get_level_values("case"),
        phase=found.index.get_level_values("phase").map(PHASES),
    ).reset_index(drop=True)


def measured(phases: pd.DataFrame) -> pd.DataFrame:
    """Those that were tried, with the mean or why there is none."""
    shown = phases["mean"].where(phases["mean"].notna(), phases["lost"])
    return phases.assign(shown=shown)[phases["state"] != STATES["not_measured"]]


def compiled(phases: pd.DataFrame) -> pd.DataFrame:
    """A row per phase of each compiled case, with `eager_` amounts of the case that isn't."""
    same = ["phase", *(name for name in AXES if name != "execution")]
    eager = phases[phases["execution"] == EAGER].drop_duplicates(same).set_index(same)
    found = phases[(phases["execution"] == COMPILED) & phases["unprofiled"].notna()]
    eager = eager.reindex(pd.MultiIndex.from_frame(found[same])).set_index(found.index)
    names = ["unprofiled", "busy", "kernels", "memory"]
    found = found.join(eager[names].add_prefix("eager_"))
    saved: Numbers = found["eager_unprofiled"] - found["unprofiled"]
    pays = to(found["compiling"] / saved.where(saved > 0), "count")
    times = found["eager_unprofiled"] / found["unprofiled"]
    return found.assign(times=times, pays=pays, seconds=to(found["compiling"], "s"))
