"""(a): how long a forward pass takes, and whether the profiler's time is the unprofiled one."""

import pandas as pd

from workflow_src.answers.energy import opened as energy_opened
from workflow_src.answers.facts import (
    example,
    in_first,
    main,
    marked,
    over_context,
    phases,
)
from workflow_src.answers.forward_time.phases import compiled, every_phase, measured
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.paper.figures import Plot
from workflow_src.paper.number import NAN, Numbers, holds, of, to
from workflow_src.paper.run import Run, first, matrices, medians
from workflow_src.paper.written import Facts

FORWARD = "forward"
CLEARLY_MORE = 0.5
"""Agreement depends on whether the device works if it is more frequent there by this share."""


def facts(run: Run) -> Facts:
    """What the template says of forward passes."""
    cases = times(run)
    agree = (cases["longer"] <= MATCH_WITHIN) & (cases["longer"] >= -MATCH_WITHIN)
    counted = holds(cases["longer"], agree, "|profiled / unprofiled - 1| <= 10 %")
    launched = cases["works"].where(cases["device"] != "cpu", NAN)
    waits = holds(launched, cases["waits"], "device time / unprofiled < 90 %")
    agreeing = {name: counted.where(mine, NAN) for name, mine in groups(cases).items()}
    more = (cases["profiled"] - cases["unprofiled"]) / cases["launches"]
    between = to(cases["told"] / cases["launches"], "us").where(launched.notna(), NAN)
    each_takes = cases["per_launch"].where(launched.notna(), NAN)
    base = in_first(run, cases)
    faster, had_waited = base["told"] / cases["told"], base["waits"].eq(True)
    waited = cases["waits"]
    chosen = example(run, cases.index[cases["unprofiled"].notna() & cases["busy"].notna()])
    rows = {
        "unprofiled, ms": (cases["unprofiled"], "spread"),
        "profiled, ms": (cases["profiled"], "spread"),
        "device time, ms": (cases["busy"], "spread"),
        "device time / unprofiled": (cases["works"], "spread"),
        "launch-bound: the device idles for over 10 %": (waits, "count"),
        "unprofiled time per launch, us": (between, "spread"),
        "device time per launch, us": (each_takes, "spread"),
        "profiled within 10 % of unprofiled where launch-bound": (agreeing["waiting"], "count"),
        "profiled within 10 % of unprofiled elsewhere": (agreeing["working"], "count"),
        "profiled beyond unprofiled": (cases["longer"], "spread"),
        "a CUDA graph saves, of unprofiled": (cases["saved"], "spread"),
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
        "phases": measured(timed),
        "compiled": under_compile,
        "breaks": under_compile[under_compile["reason"] != ""],
        "figure": figure(cases),
        "opening": medians(cases, opened),
    }


def times(run: Run) -> pd.DataFrame:
    """A row per case: facts.phases of the forward pass, with what a CUDA graph of it saves of
    unprofiled time (`saved`), and takes beyond device time (`replay`)."""
    found = phases(run, [FORWARD]).droplevel("phase")
    return found.assign(
        saved=to(1 - found["replayed"] / found["unprofiled"], "share"),
        replay=to(found["replayed"] / found["busy"] - 1, "change"),
    )


def groups(cases: pd.DataFrame) -> dict[str, "pd.Series[bool]"]:
    """Which passes a GPU works all through, and which wait for launches."""
    known = cases["works"].notna()
    return {"working": known & ~cases["waits"], "waiting": known & cases["waits"]}


def verdict(counted: Numbers, cases: pd.DataFrame) -> str:
    """Whether times agree everywhere, nowhere, where the device works all the time, or partly."""
    known = counted.dropna().astype(float)
    if known.empty:
        return "can't tell"
    if known.mean() in (0.0, 1.0):
        return "everywhere" if known.mean() else "nowhere"
    parts = [known[mine.reindex(known.index)].mean() for mine in groups(cases).values()]
    return "where it works" if parts[0] - parts[1] >= CLEARLY_MORE else "partly"


def figure(cases: pd.DataFrame) -> Plot:
    """Unprofiled times over the context, and a GPU's work in them."""
    rows = cases.assign(gpu=cases["busy"].where(cases["device"] != "cpu", NAN))
    ends, dashed = ("fastest", "slowest"), {"device time": "gpu"}
    panels = over_context(rows, y="unprofiled", ends=ends, dashed=dashed)
    return Plot(panels, "no forward pass was measured", "unprofiled, ms")


if __name__ == "__main__":
    main("a", facts)
