"""What chapters that answer questions share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.answers.components import components
from workflow_src.answers.questions import QUESTIONS, Question
from workflow_src.common.case import PHASES
from workflow_src.common.components import IN_SENTENCES
from workflow_src.common.thresholds import BUSY_LOAD, MATCH_WITHIN, REPLAY_AT_LEAST, WORKING_FULLY
from workflow_src.common.units import NS_PER_MS
from workflow_src.common.words import STATES
from workflow_src.paper import written
from workflow_src.paper.number import NAN, Numbers, each, holds, lift, named, of, over, to, within
from workflow_src.paper.run import Run, keyed, matrices
from workflow_src.paper.written import Facts
from workflow_src.placing.kernel_words import what

KEY = ["case", "phase"]

BOUND = "\N{DAGGER}"
"""Behind the unprofiled time of a phase that waits for its launches."""

PRODUCTS = ("gemm", "attention")
"""The families that multiply matrices."""


def phase(run: Run, phase: str) -> pd.DataFrame:
    """A row per case: its axes, `unprofiled` and `busy` (ms) of a step, and their share `works`;
    `waits`: that of a GPU is below WORKING_FULLY; `state`: in words; `launches` of a step, a GPU's
    time `per_launch`; `products`: their share; `profiled_state`: of its ranges, see `captured`."""
    rows = kernels(run, phase)
    timed = run.of_phase("timings", phase).drop_duplicates("case")
    plain = lift(timed["median_ms"]).set_axis(timed["case"])
    steps = to(over(run.of_phase("ledger", phase), "case", "busy_ns", "median"), "ms")
    made = pd.DataFrame(
        {"unprofiled": plain, "busy": steps.combine_first(over(rows, "case", "ms"))}
    )
    made = named(made.reindex(run.cases.index))
    made["busy"] = made["busy"].where(captured(run, phase) == "ok")
    status = states(run, phase)
    status = status.mask((status == "ok") & made["unprofiled"].isna(), "not_measured")
    works = to(made["busy"] / made["unprofiled"], "share")
    state = status.map(lambda each: STATES.get(each, each)).astype(object)
    found = run.cases.join(made).join(timed.set_index("case")["device"])
    on_gpu = found["device"] != "cpu"
    waits = (works < WORKING_FULLY).astype(bool) & on_gpu
    launches = over(rows, "case", "calls_per_step", unit="calls").reindex(found.index)
    return found.assign(
        works=works,
        waits=waits,
        state=state,
        launches=launches,
        per_launch=to((found["busy"] / launches).where(on_gpu), "us"),
        products=product_share(rows),
        profiled_state=captured(run, phase, "ranges"),
    )


def phases(run: Run, names: Sequence[str] = PHASES) -> pd.DataFrame:
    """The rows of `phase` by case and phase, joined with timings.csv, and more times.

    `profiled` (ms); `fastest` and `slowest` of several processes; `replayed` as one CUDA graph if
    that ran the `same` kernels; `told`: the unprofiled time in digits that it has earned, two where
    the host of one process sets the pace; `longer`: profiled beyond unprofiled; `memory`: GiB.
    """
    every = pd.concat({name: phase(run, name) for name in names}, names=["phase"])
    order = pd.MultiIndex.from_product([run.cases.index, names], names=KEY)
    found = every.swaplevel().rename_axis(KEY).reindex(order)
    timed = keyed(run.numbers("timings"), KEY).reindex(order)
    several = (timed["processes"] > 1).astype(bool)
    made = {name: timed[f"{name}_ms"].where(several) for name in ("fastest", "slowest")}
    ratio = timed["replayed_median_ms"] / found["busy"]
    same = (timed["replay_status"] == "ok") & ~(ratio < REPLAY_AT_LEAST).astype(bool)
    made["replayed"] = timed["replayed_median_ms"].where(same)
    steps = run["ranges"][run["ranges"]["path"] == run["ranges"]["phase"]]
    profiled = over(steps, KEY, "host_ms", "median").reindex(order)
    made["profiled"] = profiled.where(found["profiled_state"].isin(["ok", "no_activity"]))
    found = found.join(named(pd.DataFrame(made, order, dtype=object)))
    found = found.join(timed[timed.columns.difference(found.columns, sort=False)])
    return found.assign(
        same=same,
        profiled_state=found["profiled_state"].map(STATES).astype(object),
        told=told(found, found["unprofiled"], found["fastest"], found["slowest"]),
        longer=to(found["profiled"] / found["unprofiled"] - 1, "change"),
        memory=to(found["peak_memory_mib"], "GiB"),
    )


def told(found: pd.DataFrame, cells: Numbers, least: Numbers, most: Numbers) -> Numbers:
    """What follows from unprofiled times in their digits; see `phases`."""
    few = found["fastest"].notna() | found["waits"].astype(bool)
    return within(cells, least, most).where(few, cells)


def marked(found: pd.DataFrame) -> pd.Series:
    """Unprofiled times, marked where launches set the pace, or why there is none."""
    cells = each(found["told"], lambda number: (number, BOUND))
    return shown(cells.where(found["waits"].astype(bool), found["told"]), found["state"])


def shown(cells: pd.Series, state: pd.Series) -> pd.Series:
    """Cells, or why there is none."""
    return cells.where(cells.notna(), state.replace(STATES["ok"], STATES["not_measured"]))


def states(run: Run, phase: str) -> pd.Series:
    """By case whether a phase was timed: "ok", or why not, a key of STATES."""
    timed = keyed(run.of_phase("timings", phase), "case")["status"]
    return timed.reindex(run.cases.index, fill_value="not_measured")


def captured(run: Run, phase: str, table: str = "kernels") -> pd.Series:
    """As `states`, whether a phase was captured; not if it ran out of memory, even if `table` has
    rows of one of its steps."""
    status = states(run, phase)
    total = run["captures"].groupby("case")["total_ns"].sum().reindex(status.index)
    there = status.index.isin(run.of_phase(table, phase)["case"])
    lost = status.isin(["oom", "skipped", "failed"])
    found = status.where(lost, "ok").mask(~lost & ~there, "not_measured")
    return found.mask(~lost & (total <= 0), "no_activity")


def kernels(run: Run, phase: str) -> pd.DataFrame:
    """The kernels of a phase that was captured, with `ms` and `calls_per_step` of one step."""
    rows = run.of_phase("kernels", phase)
    rows = rows[(rows["case"].map(captured(run, phase)) == "ok").astype(bool)]
    rows = rows.assign(calls_per_step=rows["calls"] / rows["steps"])
    ms = rows["busy_ns"] / rows["steps"] / NS_PER_MS
    return rows.assign(ms=ms.where(np.isfinite(ms)))


def placed(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Kernels with `what` they do, the `component` that runs them, and its `place` in sentences."""
    names = rows[["name", "short_name", "family"]]
    words = {each: what(*each) for each in names.drop_duplicates().itertuples(False, None)}
    does = [words[each] for each in names.itertuples(False, None)]
    component = components_of(run, rows)
    place = [IN_SENTENCES.get(name, name) for name in component]
    return rows.assign(what=does, component=component, place=place)


def components_of(run: Run, rows: pd.DataFrame) -> list[str]:
    """The component of each row, of a brought model told from those of all cases."""
    known = components([*run["kernels"]["path"].unique(), *rows["path"].unique()])
    return [known[path] for path in rows["path"]]


def product_share(rows: pd.DataFrame, by: str | Sequence[str] = "case") -> Numbers:
    """By case the share of device time in matrix products; of a case without any, 0."""
    products = rows.assign(ms=rows["ms"].where(rows["family"].isin(PRODUCTS), 0.0))
    return to(over(products, by, "ms") / over(rows, by, "ms"), "share")


def in_first(run: Run, cases: pd.DataFrame) -> pd.DataFrame:
    """The same cases in the run's first precision; NaN of those that are in it, or have none."""
    place = [name for name in run.cases if name not in ("precision", "label")]
    base = cases[cases["precision"].isin(run.precisions[:1])].set_index(place)
    base = base.reindex(pd.MultiIndex.from_frame(cases[place])).set_axis(cases.index)
    return base.mask(cases["precision"].isin(run.precisions[:1]), NAN).astype(object)


def disturbed(run: Run) -> pd.Series:
    """By case whether a phase was captured on a CPU beside other work: its operators alone took
    longer than whole steps without the profiler, and the load was high, if it is known, since of
    short operators the profiler makes most. A GPU works as fast whatever its host does."""
    timed = run["timings"].groupby(KEY)["median_ms"].max()
    busy = pd.concat([kernels(run, each) for each in PHASES]).groupby(KEY)["ms"].sum()
    longer = busy > (1 + MATCH_WITHIN) * timed.reindex(busy.index)
    on_cpu = run["timings"]["case"][run["timings"]["device"] == "cpu"]
    machines, cases = run["environments"], run.cases.index
    idle = machines["load_average_before"] / machines["cpu_cores"] <= BUSY_LOAD
    found = cases.isin(longer[longer].index.get_level_values(0)) & cases.isin(on_cpu)
    return pd.Series(found & ~cases.isin(machines["case"][idle]), cases)


def example(run: Run, among: pd.Index) -> str:
    """The case in the middle of sizes and contexts, in the last precision, or ""."""
    cases = run.cases.loc[among]
    size, context = (pd.factorize(run.cases[n])[0] for n in ("size", "context"))
    places = pd.DataFrame({"size": size, "context": context}, run.cases.index)
    off = (places - (places.max() - 1e-6) / 2).abs().loc[among]
    off["precision"] = [-run.precisions.index(each) for each in cases["precision"]]
    return str(off.sort_values(["size", "context", "precision"]).index[0]) if len(off) else ""


def leader(names: pd.Series, numbers: Numbers, rule: str) -> tuple[str, Any]:
    """What most cases have, and in how many; rule: what holds of these, with {} for the name."""
    counts = names.value_counts()
    name = min(counts.index, key=lambda each: (-counts[each], each), default="")
    return name, of(holds(numbers, names == name, rule.format(name)), "count")


def led(names: pd.Series, leads: Numbers) -> pd.Series:
    """What leads, with in how many cases."""
    pairs = zip(names, leads, strict=True)
    return pd.Series([(name, ", ", number) for name, number in pairs], names.index, dtype=object)


def shown_of_all(run: Run, cases: pd.DataFrame, known: pd.DataFrame, column: str) -> Facts:
    """A column of all cases as matrices, the rows in which it is `known`, how many disturbed."""
    cells = cases[column].where(cases[column].notna(), cases["state"].map(STATES))
    return {
        "matrices": matrices(cases, cells) if len(known) else {},
        "by_case": known.rename_axis("name").reset_index(),
        "disturbed": of(holds(known[column], disturbed(run)[known.index], "disturbed"), "count"),
    }


def tables_of(asked: Question) -> list[str]:
    """The tables of a question."""
    return [*asked.tables, *asked.optional, *(f"studies/{name}" for name in asked.studies)]


def main(question: str, facts: Callable[[Run], Facts]) -> None:
    """Write the chapter that answers a question."""
    asked = QUESTIONS[question]
    written.main(question, facts, [f"answers/{asked.room}.j2"], tables=tables_of(asked))
