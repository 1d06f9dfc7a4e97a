"""Each phase of each case: its mean and deviation, and what torch.compile makes of it."""

import pandas as pd

from workflow_src.answers.facts import kernels, phase
from workflow_src.common.case import COMPILED, EAGER
from workflow_src.common.words import PHASES, STATES
from workflow_src.paper.number import Numbers, lift, over, to
from workflow_src.paper.run import AXES, Run

TIMED = {"mean": "mean_ms", "std": "std_ms", "cv": "within_cv", "fastest": "fastest_ms"}
TIMED |= {"slowest": "slowest_ms", "processes": "processes", "samples": "samples"}
TIMED |= {"compiling": "compile_ms", "graphs": "graphs", "breaks": "graph_breaks"}
TIMED |= {"replayed": "replayed_median_ms", "memory": "peak_memory_mib"}


def every_phase(run: Run) -> pd.DataFrame:
    """A row per case and phase: facts.phase with TIMED, `deviation` within a process (of several
    the median one's share of the mean), and `kernels` a step."""
    return pd.concat([_phase(run, name) for name in PHASES]).sort_index(kind="stable", level=0)


def _phase(run: Run, name: str) -> pd.DataFrame:
    timed = run.of_phase("timings", name).drop_duplicates("case")
    made = {key: lift(timed[column]).set_axis(timed["case"]) for key, column in TIMED.items()}
    made["kernels"] = over(kernels(run, name), "case", "calls_per_step", unit="calls")
    found = phase(run, name)
    found = found.join(pd.DataFrame(made).reindex(found.index).astype(object))
    deviation = (found["mean"] * found["cv"]).combine_first(found["std"]).astype(object)
    reason = timed.set_index("case")["graph_break_reasons"].reindex(found.index).fillna("")
    state = found["state"].where(found["state"] != STATES["ok"], "")
    index = pd.MultiIndex.from_arrays([range(len(found)), [name] * len(found)])
    return found.assign(
        name=found.index,
        deviation=deviation,
        phase=PHASES[name],
        reason=reason,
        lost=state,
        memory=to(found["memory"], "GiB"),
    ).set_index(index)


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
