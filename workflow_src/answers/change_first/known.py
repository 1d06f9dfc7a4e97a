"""What is known of remedies: measured by replay, in other cases and by a study, or predicted.

Each source is a frame: case, phase, remedies, `how` they are known, and ms without (PLAIN_TIME) and
with them (TIME), each with the least and the most that it may be.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pandas as pd

from workflow_src.answers.facts import KEY, phases
from workflow_src.answers.machines import SHORTER, SPREAD, conditions, on_both, unlike
from workflow_src.common.case import ATTENTIONS, COMPILED, EXECUTIONS, OPTIMIZERS, PHASES
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.remedies import GRAPH, REMEDIES
from workflow_src.common.thresholds import BUSY_LOAD
from workflow_src.paper.number import Numbers, each, named, of
from workflow_src.paper.run import AXES, Run, keyed

PLAIN_TIME, TIME = ("plain", "plain_low", "plain_high"), ("time", "low", "high")
REPLAYED = ("replayed", "replayed_low", "replayed_high")
AS_TIME = dict(zip(REPLAYED, TIME, strict=True))
BF16, COMPILE = "bf16", "compile"
STUDY, THEIR_STUDY = "study", "study of another case"
REPLAY, OTHER_CASE, PREDICTED = "replay", "another case", "predicted"

BETTER = {
    "precision": PRECISIONS,
    "attention": ("eager", *ATTENTIONS),
    "optimizer": OPTIMIZERS,
    "execution": EXECUTIONS,
}
"""The values of each axis from plain to better, after which remedies are named.

What transformers calls eager is attention written out.
"""


def known(run: Run) -> pd.DataFrame:
    """What is known of phases whose plain time can be compared, in the order in which it counts.

    The study, which has both times of the same minutes, counts before a replay, that before other
    cases, and predictions last.
    """
    timed, others, studied = times(run), pairs(run), study(run)
    plain = timed[timed["comparable"]].reset_index()
    replays = plain.rename(columns=AS_TIME).assign(remedies=GRAPH, how=REPLAY)
    tried, theirs = in_other_cases(run, plain, others), in_study_of_others(plain, others, studied)
    sure = plain[plain["plain"].notna()]
    found = [rows.merge(sure[KEY], on=KEY) for rows in (studied, replays, tried, theirs)]
    found += [predicted(run, others).merge(plain[KEY], on=KEY)]
    columns = [*KEY, "remedies", "how", *PLAIN_TIME, *TIME]
    every = pd.concat([rows[columns].astype(object) for rows in found], ignore_index=True)
    return every[(every[[*PLAIN_TIME]] > 0).all(axis=1) & every[[*TIME]].notna().all(axis=1)]


def times(run: Run) -> pd.DataFrame:
    """A row per case and phase: PLAIN_TIME, REPLAYED, `beyond` (ms beyond device time; on a CPU,
    whose operators slow down, all), `comparable`.

    The ends of a plain time are the fastest and the slowest process; of one process what the run's
    phases of several spread, as a share of `beyond` (device time repeats); or its percentiles.
    """
    found = phases(run)
    found[["plain"]] = named(found[["unprofiled"]].set_axis(["plain"], axis=1))
    for name, percentile in zip(REPLAYED[1:], ("p20", "p80"), strict=True):
        cells = found[f"replayed_{percentile}_ms"]
        found[name] = cells.where(found["same"] & cells.notna(), found["replayed"])
    on_cpu = found["device"] == "cpu"
    works = found["plain"].notna() & found["busy"].notna() & ~on_cpu
    beyond = (found["plain"] - found["busy"]).where(works, found["plain"])
    found["beyond"] = each(beyond, lambda ms: replace(ms, value=max(ms.value, 0.0)))
    comparable = (found["status"] == "ok") & ~doubted(run, found)
    low, high = (end(found, *which) for which in ((-1, "fastest", "p20"), (1, "slowest", "p80")))
    return found.assign(plain_low=low, plain_high=high, comparable=comparable)


def end(found: pd.DataFrame, sign: int, column: str, percentile: str) -> Numbers:
    """The least (sign -1) or the most (1) of plain times; see `times`."""
    both = found["fastest"].notna() & found["slowest"].notna()
    off = found[both & (found["beyond"] > 0).astype(bool)]
    away = sign * (off[column] - off["plain"]) / off["beyond"]
    spread = of(each(away, lambda n: replace(n, value=max(n.value, 0.0))), "median")
    usual = found[f"{percentile}_ms"].fillna(found["plain"])
    if spread == spread:
        usual = found["plain"] + sign * spread * found["beyond"]
    return found[column].where(both, usual).where(found["plain"].notna())


def doubted(run: Run, found: pd.DataFrame) -> "pd.Series[bool]":
    """Whether a CPU's times without and with the profiler can't be compared."""
    load = keyed(conditions(run), "case")["load"]
    busy = load.astype(float).reindex(found.index.get_level_values("case")).to_numpy() > BUSY_LOAD
    return (on_both(found) & busy) | unlike(found)[[SPREAD, SHORTER]].any(axis=1)


def pairs(run: Run) -> pd.DataFrame:
    """Cases that differ in remedies alone, by phase: `other` is `case` with `remedies`."""
    devices = pd.concat([run[name][["case", "device"]] for name in ("timings", "captures")])
    cases = run.cases[[*AXES]].join(keyed(devices, "case"))
    cases = cases.rename_axis("case").reset_index()
    same = [name for name in cases if name not in ("case", *BETTER)]
    found = cases.merge(cases, on=same, suffixes=("", "_other"))
    found["remedies"] = pd.Series("", found.index, dtype=object)
    for axis, order in BETTER.items():
        places = {value: place for place, value in enumerate(order)}
        its, equal = found[f"{axis}_other"], found[axis] == found[f"{axis}_other"]
        better = its.map(places) > found[axis].map(places)
        named_after = found["remedies"] + "+" + its.replace(COMPILED, COMPILE)
        found["remedies"] = found["remedies"].where(equal, named_after)
        found = found[equal | better]
    every = found.merge(pd.DataFrame({"phase": PHASES}), how="cross")
    return touching(every.rename(columns={"case_other": "other"}))[[*KEY, "other", "remedies"]]


def touching(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the remedies that change their phase, if any: an optimizer is in no pass."""
    names = [
        in_order(n for n in name.split("+") if phase == PHASES[-1] or n not in OPTIMIZERS)
        for name, phase in zip(rows["remedies"], rows["phase"], strict=True)
    ]
    touched = pd.Series(names, rows.index, dtype=object)
    return rows.assign(remedies=touched)[touched != ""]


def having(rows: pd.DataFrame, rule: Callable[[set[str]], bool]) -> pd.DataFrame:
    """Rows of whose remedies a rule holds."""
    return rows[rows["remedies"].map(lambda names: rule({*names.split("+")})).astype(bool)]


def in_order(remedies: Iterable[str]) -> str:
    """Remedies joined, those last that only a study tried."""
    return "+".join(sorted(set(remedies) - {""}, key=place))


def place(remedy: str) -> tuple[int, str]:
    """The place of a remedy among others."""
    return (REMEDIES.index(remedy) if remedy in REMEDIES else len(REMEDIES), remedy)


def rank(remedies: str) -> tuple[int, list[tuple[int, str]]]:
    """The place of remedies in tables: fewer first."""
    names = remedies.split("+")
    return len(names), [*map(place, names)]


def in_other_cases(run: Run, plain: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Other cases in plain time, if on one host, and replayed, which no host slows down.

    The ends of a plain time reach to what it would be at the speed of the first case's host, by
    the time of an eager operation: what a host adds to device time differs, also by the hour.
    """
    machine = keyed(run.numbers("environments"), "case")
    machine = machine[["host_id", "host_operation_us_before"]].set_axis(["host", "us"], axis=1)
    its = dict(zip(PLAIN_TIME, TIME, strict=True)) | {"case": "other"}
    found = others.merge(plain[[*KEY, *PLAIN_TIME]], on=KEY).merge(
        plain[[*KEY, *PLAIN_TIME, *REPLAYED, "beyond"]].rename(columns=its), on=["other", "phase"]
    )
    found = found.join(machine, on="case").join(machine.add_prefix("its_"), on="other")
    hosts = found[["host", "its_host"]].fillna("")
    here = (hosts == "").any(axis=1) | (hosts["host"] == hosts["its_host"])
    there = found["time"] + (found["us"] / found["its_us"] - 1) * found["beyond"]
    low = found["low"].mask((there < found["low"]).astype(bool), there)
    high = found["high"].mask((there > found["high"]).astype(bool), there)
    replayed = found.drop(columns=[*TIME]).rename(columns=AS_TIME)
    replayed = replayed.assign(remedies=found["remedies"] + "+" + GRAPH)
    return pd.concat([found.assign(low=low, high=high)[here], replayed]).assign(how=OTHER_CASE)


def study(run: Run) -> pd.DataFrame:
    """The times of the study's variants that change a phase, beside its own plain time.

    Without those whose gradients aren't finite, or whose step has more batches.
    """
    rows = run.numbers("studies/levers")
    broken = (rows["error_state"] == "ok") & rows["gradients_error"].isna()
    rows = rows[(rows["status"] == "ok") & ~broken & ~(rows["batches"] > 1)]
    rows = rows.drop_duplicates([*KEY, "variant"]).rename(columns={"median_ms": "time"})
    for name, column in (("low", "fastest_process_ms"), ("high", "slowest_process_ms")):
        rows[name] = rows[column].fillna(rows["time"])
    plain = rows[rows["variant"] == "plain"][[*KEY, *TIME]].set_axis([*KEY, *PLAIN_TIME], axis=1)
    variants = touching(rows[rows["variant"] != "plain"][[*KEY, "remedies", *TIME]])
    return variants.merge(plain, on=KEY, how="left").assign(how=STUDY)


def in_study_of_others(
    plain: pd.DataFrame, others: pd.DataFrame, studied: pd.DataFrame
) -> pd.DataFrame:
    """Of plain time, the study's graphs of the same case in a better precision."""
    narrower = having(others, lambda names: names <= {*PRECISIONS})
    graphs = having(studied, lambda names: GRAPH in names)
    graphs = graphs.rename(columns={"case": "other", "remedies": "more"})
    found = narrower.merge(graphs[["other", "phase", "more", *TIME]], on=["other", "phase"])
    found = found.merge(plain[[*KEY, *PLAIN_TIME]], on=KEY)
    return touching(found.assign(remedies=found["remedies"] + "+" + found["more"], how=THEIR_STUDY))


def predicted(run: Run, others: pd.DataFrame) -> pd.DataFrame:
    """What the model of a step predicts of the plain time that it was made from; of a graph in bf16
    by the case in bf16, if the run has it, whose kernels were measured in bf16."""
    rows = run.numbers("remedies")
    names = {"plain_ms": "plain", "predicted_ms": "time", "low_ms": "low", "high_ms": "high"}
    rows = rows[rows["status"] == "ok"].rename(columns=names)[[*KEY, "remedies", *names.values()]]
    twins = others[(others["remedies"] == BF16) & (others["phase"] == PHASES[-1])]
    graphs = having(rows, lambda names: GRAPH in names)
    graphs = graphs.rename(columns={"case": "other"}).merge(twins[["case", "other"]], on="other")
    graphs = graphs.assign(remedies=BF16 + "+" + graphs["remedies"])[[*KEY, "remedies", *TIME]]
    found = rows.merge(graphs, on=[*KEY, "remedies"], how="left", suffixes=("", "_in_bf16"))
    for name in TIME:
        found[name] = found[f"{name}_in_bf16"].fillna(found[name])
    for name in PLAIN_TIME:
        found[name] = found["plain"]
    return touching(found.assign(how=PREDICTED))
