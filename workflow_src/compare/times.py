"""Each phase that ran in both runs: how its times changed."""

from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.compare.change import Kind, Verdict, apart, beside, chosen, spread, with_ratio
from workflow_src.compare.machines import doubts
from workflow_src.compare.plain import Why, judged
from workflow_src.compare.runs import PLACE, SAMPLES, Measured
from workflow_src.paper.number import NAN, Number
from workflow_src.paper.run import ordered

NOT_PLANNED = "not planned"

COLUMNS = ("working_share", "kind", "a_ms", "b_ms", "ratio", "verdict", "why", "low", "high", "p",
           "a_processes", "b_processes")  # fmt: skip
"""Of a row per phase and kind of time: the least share of the plain time in which the device works
(NaN if it wasn't captured), both times and what they show; see plain.judged."""


def changes(a: Measured, b: Measured, cases: pd.Index, threshold: float) -> pd.DataFrame:
    """COLUMNS of each phase of `cases` that ran in both runs, and kind of its times, by case and
    phase: what travels best first."""
    plain = beside(_plain(a), _plain(b), "inner")
    order = pd.MultiIndex.from_product([cases, PHASES], names=PLACE)
    plain = plain.reindex(order[order.isin(plain.index)])
    case = plain.index.get_level_values("case")
    works = [_device(run)["ms"].reindex(plain.index).astype(float) for run in (a, b)]
    shares = [busy / plain[f"{n}_ms"].astype(float) for n, busy in zip("ab", works, strict=True)]
    working = pd.concat(shares, axis=1).min(axis=1, skipna=False)
    trusted = (working >= WORKING_FULLY) & case.isin(a.on_gpu)
    doubt = doubts(a, b).reindex(case, fill_value=False).set_axis(plain.index)
    said = chosen({Why.DEVICE: doubt["device"], Why.HOST: doubt["host"] & ~trusted})
    plain = judged(with_ratio(plain.assign(trusted=trusted, doubt=said)), threshold)
    on_gpu = plain.index[case.isin(a.on_gpu.intersection(b.on_gpu))]
    made = []
    for kind, of, index in ((Kind.DEVICE, _device, on_gpu), (Kind.REPLAY, _replay, plain.index)):
        both = with_ratio(beside(of(a), of(b), "inner"))
        both = both.reindex(index[index.isin(both.index)])
        both = both.assign(kind=kind, verdict=apart(both, threshold), why="")
        made.append(both.assign(a_processes=1, b_processes=1))
    every = pd.concat([*made, plain.assign(kind=Kind.PLAIN)]).reindex(columns=[*COLUMNS])
    every["working_share"] = working.reindex(every.index)
    places = order.get_indexer(every.index)
    return every.iloc[np.argsort(places, kind="stable")]


def _plain(run: Measured) -> pd.DataFrame:
    """SAMPLES of each phase that was timed; of tables alone the median, and how many processes."""
    rows = run.tables["timings"]
    rows = rows[rows["status"] == "ok"]
    found = _sampled(run.plain, rows)
    said = np.where(found["ms"].notna(), "median of the processes' medians", "median_ms")
    known = found["ms"].fillna(rows["median_ms"].set_axis(found.index))
    made: list[Any] = [
        Number(ms, "ms", frozenset([line]), text) if ms > 0 else NAN
        for ms, line, text in zip(known, rows.index, said, strict=True)
    ]
    processes = found["processes"].fillna(rows["processes"].set_axis(found.index))
    samples = found["samples"].map(lambda each: each if isinstance(each, tuple) else ())
    found = found.assign(ms=made, processes=processes, samples=samples)
    return found[found["ms"].notna()]


def _sampled(raw: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """What benchmarks tell of rows of timings.csv."""
    found = raw.reindex(pd.MultiIndex.from_frame(rows[PLACE]))
    return found.astype(dict.fromkeys(SAMPLES[:4], float))


def _device(run: Measured) -> pd.DataFrame:
    """The device time of each phase's captured steps."""
    rows = run.tables["ranges"]
    rows = rows[(rows["path"] == rows["phase"]) & (rows["busy_ms"] > 0)]
    return spread(rows, PLACE, "busy_ms")


def _replay(run: Measured) -> pd.DataFrame:
    """The replay of each phase, over processes; none of tables alone."""
    rows = run.tables["timings"]
    found = _sampled(run.replays, rows)
    read = zip(found["ms"], rows.index, strict=True)
    made: list[Any] = [
        Number(ms, "ms", frozenset([line]), "replayed_median_ms") for ms, line in read
    ]
    return found.assign(ms=made)[found["least"] > 0]


def decisive(times: pd.DataFrame) -> pd.DataFrame:
    """The time that decides on each phase: slower before faster before the same."""
    ranked = ordered(times, "verdict", Verdict)
    found = ranked[~ranked.index.duplicated()]
    return found.reindex(times.index.unique())


def in_one_run(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """Phases of `cases` that ran in one run only, with each run's status; lost: in A and, though
    planned, not in B."""
    order = pd.MultiIndex.from_product([cases, PHASES], names=PLACE)
    states = {
        name: run.tables["timings"].set_index(PLACE)["status"].reindex(order)
        for name, run in (("a_status", a), ("b_status", b))
    }
    found = pd.DataFrame(states).replace("", NOT_PLANNED).fillna(NOT_PLANNED)
    ran = found == "ok"
    found["lost"] = ran["a_status"] & ~found["b_status"].isin(["ok", NOT_PLANNED])
    return found[ran["a_status"] != ran["b_status"]]
