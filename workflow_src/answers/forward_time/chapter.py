"""The answer to (a)."""

import pandas as pd

from workflow_src.answers.drawn import over_context
from workflow_src.answers.energy import opened as energy_opened
from workflow_src.answers.facts import example, in_first, main, marked, phases
from workflow_src.common.case import COMPILED, EAGER
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.common.words import PHASES, STATES
from workflow_src.paper.figures import Plot
from workflow_src.paper.number import Numbers, holds, of, to
from workflow_src.paper.run import AXES, Quantities, Run, first, keyed, matrices, medians
from workflow_src.paper.written import Facts

FORWARD = "forward"
CLEARLY_MORE = 0.5
"""Agreement depends on whether the device works if it is more frequent there by this share."""


def facts(run: Run) -> Facts:
    """What the template says."""
    cases = times(run)
    agree = (cases["longer"] <= MATCH_WITHIN) & (cases["longer"] >= -MATCH_WITHIN)
    counted = holds(cases["longer"], agree, "|profiled / unprofiled - 1| <= 10 %")
    launched = cases["works"].where(cases["device"] != "cpu")
    waits = holds(launched, cases["waits"], "device time / unprofiled < 90 %")
    agreeing = {name: counted.where(mine) for name, mine in groups(cases).items()}
    more = (cases["profiled"] - cases["unprofiled"]) / cases["launches"]
    between = to(cases["told"] / cases["launches"], "us").where(launched.notna())
    each_takes = cases["per_launch"].where(launched.notna())
    base = in_first(run, cases)
    faster, had_waited = base["told"] / cases["told"], base["waits"].eq(True)
    waited = cases["waits"]
    chosen = example(run, cases.index[cases["unprofiled"].notna() & cases["busy"].notna()])
    rows: Quantities = {
        "unprofiled, ms": cases["unprofiled"],
        "profiled, ms": cases["profiled"],
        "device time, ms": cases["busy"],
        "device time / unprofiled": cases["works"],
        "launch-bound: the device idles for over 10 %": (waits, "count"),
        "unprofiled time per launch, us": between,
        "device time per launch, us": each_takes,
        "profiled within 10 % of unprofiled where launch-bound": (agreeing["waiting"], "count"),
        "profiled within 10 % of unprofiled elsewhere": (agreeing["working"], "count"),
        "profiled beyond unprofiled": cases["longer"],
        "a CUDA graph saves, of unprofiled": cases["saved"],
    }
    opened = {
        "(a) forward: profiler within 10 % of plain timing": (counted, "count"),
        "(a) forward: device time / unprofiled time": (cases["works"], "median"),
        **energy_opened(run),
    }
    timed = every_phase(run)
    under_compile = compiled(timed)
    by_case = cases.rename_axis("name").reset_index()
    return {
        "verdict": verdict(counted, cases),
        "agree": of(counted, "count"),
        **{name: of(cells, "count") for name, cells in agreeing.items()},
        "python": of(between[waited], "median"),
        "short": of(each_takes[waited], "median"),
        "long": of(each_takes[~waited], "median"),
        "per_launch": of(to(more[waited], "us"), "median"),
        "summary": medians(cases, rows),
        "unprofiled": matrices(cases, marked(cases)),
        "faster": matrices(cases[faster.notna()], faster[faster.notna()]),
        "plainest": "".join(run.precisions[:1]),
        "of_waiting": of(faster[had_waited], "median"),
        "of_working": of(faster[~had_waited], "median"),
        "bound": bool(waited.any()),
        "example": first(cases[cases.index == chosen]),
        "by_case": by_case[by_case["unprofiled"].notna() | by_case["profiled"].notna()],
        "phases": timed[timed["state"] != STATES["not_measured"]],
        "compiled": under_compile,
        "breaks": under_compile[under_compile["reason"] != ""],
        "figure": figure(cases),
        "opening": medians(cases, opened),
    }


def times(run: Run) -> pd.DataFrame:
    """facts.phases of the forward pass; of its CUDA graph, the share `saved` of unprofiled time,
    and `replay`, beyond device time."""
    found = phases(run, [FORWARD]).droplevel("phase")
    return found.assign(
        saved=to(1 - found["replayed"] / found["unprofiled"], "share"),
        replay=to(found["replayed"] / found["busy"] - 1, "change"),
    )


def every_phase(run: Run) -> pd.DataFrame:
    """facts.phases; the mean as `shown`, or why there is none; `deviation` within a process, of
    several the median one's."""
    found = phases(run)
    deviation = (found["mean_ms"] * found["within_cv"]).combine_first(found["std_ms"])
    lost = found["state"].where(found["state"] != STATES["ok"], "")
    return found.assign(
        deviation=deviation.astype(object),
        reason=found["graph_break_reasons"].fillna(""),
        shown=found["mean_ms"].where(found["mean_ms"].notna(), lost),
        name=found.index.get_level_values("case"),
        phase=found.index.get_level_values("phase").map(PHASES),
    ).reset_index(drop=True)


def compiled(phases: pd.DataFrame) -> pd.DataFrame:
    """A row per phase of each compiled case, with `eager_` amounts of the other."""
    same = ["phase", *(name for name in AXES if name != "execution")]
    eager = keyed(phases[phases["execution"] == EAGER], same)
    found = phases[(phases["execution"] == COMPILED) & phases["unprofiled"].notna()]
    eager = eager.reindex(pd.MultiIndex.from_frame(found[same])).set_index(found.index)
    names = ["unprofiled", "busy", "launches", "memory"]
    found = found.join(eager[names].add_prefix("eager_"))
    saved: Numbers = found["eager_unprofiled"] - found["unprofiled"]
    pays = to(found["compile_ms"] / saved.where(saved > 0), "count")
    times = found["eager_unprofiled"] / found["unprofiled"]
    return found.assign(times=times, pays=pays, seconds=to(found["compile_ms"], "s"))


def groups(cases: pd.DataFrame) -> dict[str, "pd.Series[bool]"]:
    """Passes in which the device works all the time, and those that wait."""
    known = cases["works"].notna()
    return {"working": known & ~cases["waits"], "waiting": known & cases["waits"]}


def verdict(counted: Numbers, cases: pd.DataFrame) -> str:
    """Where times agree."""
    known = counted.dropna().astype(float)
    if known.empty:
        return "can't tell"
    if known.mean() in (0.0, 1.0):
        return "everywhere" if known.mean() else "nowhere"
    parts = [known[mine.reindex(known.index)].mean() for mine in groups(cases).values()]
    return "where it works" if parts[0] - parts[1] >= CLEARLY_MORE else "partly"


def figure(cases: pd.DataFrame) -> Plot:
    """Unprofiled times over the context, and a GPU's work in them."""
    rows = cases.assign(gpu=cases["busy"].where(cases["device"] != "cpu"))
    ends, dashed = ("fastest", "slowest"), {"device time": "gpu"}
    panels = over_context(rows, y="unprofiled", ends=ends, dashed=dashed)
    return Plot(panels, "no forward pass was measured", "unprofiled, ms")


if __name__ == "__main__":
    main("a", facts)
