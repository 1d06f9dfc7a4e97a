"""The one case that all answers work through, so that a reader can follow it from (a) to (f)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.answers import comparable, evidence, wording
from workflow_src.answers.evidence import Row, empty_table, read_table
from workflow_src.common.case import PHASES

TABLES = ("timings", "captures")
OPTIONAL = ("environments", "ledger", "operators", "products", "ranges")

EVIDENCE = {
    "replay": "a replay as a CUDA graph",
    "ledger": "a ledger of its idle time",
    "operators": "the shapes of its operators",
    "products": "the sizes of its products",
}
"""What a case may have been recorded with besides its times and kernels, in words."""


def read(folder: Path, case: Row | None = None) -> Row | None:
    """The example of a run, given the folder of its tables; `case` is as for `read_table`."""
    found = {name: read_table(folder, name, case) for name in TABLES}
    for name in OPTIONAL:
        there = (folder / f"{name}.csv").is_file()
        found[name] = read_table(folder, name, case) if there else empty_table(name)
    return choose(found)


def choose(tables: Mapping[str, pd.DataFrame]) -> Row | None:
    """The case to work through; None if no case is complete.

    Complete are cases whose phases were all timed and whose capture holds device activity. Those
    without a warning come first, if there are any, and of them those without a doubt about a
    phase's times (see `comparable.doubt`). Of their sizes and contexts (and whatever else
    varies besides precision) it is the one, written out, with the most precisions; of equals that
    with the most evidence, then the nearest to the middle size and to the middle context. Its
    `precision`, for what is worked at one only, is the first of those with the most evidence.
    """
    every = evidence.cases_of(tables["timings"], tables["captures"])
    complete = [case for case in wording.named(every) if _complete(case["case"], tables)]
    warned = _warned(tables["environments"])
    timed = (tables["timings"], tables["ranges"], tables["environments"])
    calm = [case for case in complete if case["case"] not in warned]
    compared = [case for case in calm if not comparable.doubted(case, *timed)]
    if not complete:
        return None
    able = compared or calm or complete
    known = [case | {"evidence": _evidence(case["case"], tables)} for case in able]
    sizes, contexts = (list(dict.fromkeys(c[axis] for c in every)) for axis in ("size", "context"))
    middle = {"size": sizes, "context": sorted(contexts)}
    best = min(_settings(known), key=lambda mine: _rank(mine, middle))
    unchecked = _unchecked(tables["environments"], [case["case"] for case in best])
    about = {"calm": bool(calm), "compared": bool(compared), "unchecked": unchecked}
    return _described(best) | about


def _complete(case: str, tables: Mapping[str, pd.DataFrame]) -> bool:
    """Whether every phase was timed, and the capture holds device activity."""
    states = [evidence.benchmark_state(tables["timings"], case, phase).word for phase in PHASES]
    captured = evidence.of(tables["captures"], case)["total_ns"].sum() > 0
    return bool(captured) and set(states) == {"ok"}


def _warned(environments: pd.DataFrame) -> set[str]:
    """The cases with a warning, such as of a throttled device."""
    if "warning" not in environments:
        return set()
    return set(environments.loc[environments["warning"] != "", "case"])


def _unchecked(environments: pd.DataFrame, cases: Sequence[str]) -> bool:
    """Whether the host's speed was measured before some of the cases, but not after them."""
    before, after = (f"host_operation_us_{when}" for when in ("before", "after"))
    if not {before, after} <= set(environments):
        return False
    mine = environments[environments["case"].isin(cases)]
    known = mine[[before, after]].apply(pd.to_numeric, errors="coerce").notna()
    return bool((known[before] & ~known[after]).any())


def _evidence(case: str, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Which of EVIDENCE a case has."""
    joined = [name for name in EVIDENCE if name in tables]
    found = {name: not evidence.of(tables[name], case).empty for name in joined}
    timed = evidence.of(tables["timings"], case)
    found["replay"] = "replay_status" in timed and bool((timed["replay_status"] == "ok").any())
    return [name for name in EVIDENCE if found[name]]


def _settings(cases: Sequence[Row]) -> list[list[Row]]:
    """Cases that differ in precision only, together, fp32 first."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for mine in wording.by_precision(cases).values():
        for case in mine:
            found.setdefault(wording.all_but(case, "precision"), []).append(case)
    return list(found.values())


def _rank(mine: Sequence[Row], middle: Mapping[str, list[Any]]) -> tuple[float, ...]:
    """The smaller, the better a size and context is as an example; see `choose`."""
    off = [
        abs(values.index(mine[0][axis]) - (len(values) - 1) / 2) for axis, values in middle.items()
    ]
    known = sum(len(case["evidence"]) for case in mine)
    return (mine[0]["attention"] != "naive", -len(mine), -known, *off)


def _described(mine: Sequence[Row]) -> Row:
    main = max(mine, key=lambda case: len(case["evidence"]))
    shared = [name for name in EVIDENCE if all(name in case["evidence"] for case in mine)]
    return {
        "case": main["case"],
        "named": main["named"],
        "brief": main["brief"],
        "precision": main["precision"],
        "cases": [case["case"] for case in mine],
        "on_cpu": main["device"] == "cpu",
        "evidence": [EVIDENCE[name] for name in shared],
    }


def pick(rows: Sequence[Row], example: Row | None) -> Row | None:
    """The example's row; None if there is no example or it isn't among the rows."""
    return next((row for row in rows if example and row["case"] == example["case"]), None)


def any_of(rows: Sequence[Row], example: Row | None) -> Row | None:
    """The example's row at the first of its precisions that is among the rows, or None."""
    names = example["cases"] if example else []
    return next((row for name in names for row in rows if row["case"] == name), None)


def beside(rows: Sequence[Row], example: Row | None) -> list[Row]:
    """The example's rows at each precision, fp32 first; empty unless it is among them."""
    if not pick(rows, example) or not example:
        return []
    found = [row for row in rows if row["case"] in example["cases"]]
    return [row for mine in wording.by_precision(found).values() for row in mine]


def said(chosen: Row | None, example: Row | None, own: str, cases: int) -> str:
    """What follows the name of the case that an answer works, such as ", a typical case".

    `own` describes what an answer chose itself. Empty where there is nothing to choose from.
    """
    if cases < 2 or not chosen:
        return ""
    if not example:
        return f", {own}"
    if chosen["case"] in example["cases"]:
        return ", the example"
    return f", {own} (the example, {example['named']}, lacks what is needed here)"
