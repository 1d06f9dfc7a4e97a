"""Study checkpointing: peak and time over what is checkpointed as one, and how nesting grows."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.common.components import PER_BLOCK
from workflow_src.common.units import MIB
from workflow_src.model import flops, step_memory
from workflow_src.paper.number import NAN, of, to
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, unmeasured
from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.study import Point, Row

SAME_WITHIN = 0.01
"""Peaks that differ by less are equal: the allocator rounds by as much."""

WAYS: Mapping[tuple[bool, float], str] = {
    (False, 0): "none",
    (False, PER_BLOCK): "each block",
    (True, 0): "nested",
}
"""Of models of growing depth: by whether checkpoints are nested, and sublayers."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = told(load(run, "checkpointing"))
    flat, nesting = (table[table["measurement"] == name] for name in ("flat", "nesting"))
    flat = flat.sort_values(["size", "order"], kind="stable")
    nesting = nesting[nesting["way"].notna()]
    best = least(flat)
    off = of(flat["off"], "max")
    found = "predicted" if best["right"].all() else "otherwise"
    choices = zip(best["size"], best["blocks"], strict=True)
    every = [part for size, blocks in choices for part in (", ", size, " ", blocks)]
    return {
        "verdict": found if off == off and len(best) else "can't tell",
        "choices": tuple(every[1:]),
        "off": off,
        "again": of(best["again"], "max"),
        "flat": flat,
        "nesting": nesting,
        "models": flat.drop_duplicates("size"),
        "missing": unmeasured(table, "size", "layers", "arranged"),
        "on_cpu": bool((table["gpu"] == "").any()),
    }


def told(table: pd.DataFrame) -> pd.DataFrame:
    """Each way to checkpoint: its peak, how far off that was foretold, and its time.

    beside: a peak without weights and optimizer state, which grow with depth in any case.
    """
    sublayers = table["sublayers"].astype(float)
    ran = table[["peak_mib", "samples"]].where(table["ok"])
    peak, foretold = ran["peak_mib"], table["predicted_peak_mib"]
    few = sublayers.fillna(0).map({0.0: "none", 1.0: "half"})
    blocks = to(table["sublayers"] / PER_BLOCK, "").where(few.isna(), few)
    steady = table["weights_and_state_mib"]
    ways = zip(table["nested"], sublayers.fillna(0), strict=True)
    way: list[object] = [WAYS.get(each, NAN) for each in ways]
    return table.assign(
        order=sublayers.where(sublayers > 0, inf),
        blocks=blocks,
        arranged=blocks.map("{} blocks per checkpoint".format).where(~table["nested"], "nested"),
        way=pd.Series(way, table.index, dtype=object),
        peak=or_state(to(peak, "GiB"), table),
        predicted=to(foretold, "GiB"),
        beside=or_state(peak - steady, table),
        predicted_beside=foretold - steady,
        off=to(abs(foretold / peak - 1), "share"),
        n=ran["samples"],
        again=to(table["recomputed_flops"] / table["flops"], "share"),
    )


def least(flat: pd.DataFrame) -> pd.DataFrame:
    """Of each model the checkpointed step of least peak, and whether that was foretold: `right`. It
    was if no other takes less than the foretold one, which then stands for it."""
    ran = flat[flat["ok"] & flat["peak_mib"].notna() & (flat["sublayers"] > 0)]
    peaks = ran["peak_mib"].astype(float)
    lowest = peaks.groupby(ran["size"]).transform("min")
    right = (ran["sublayers"] == ran["predicted_best"]) & (peaks <= (1 + SAME_WITHIN) * lowest)
    ranked = ran.assign(right=right, wrong=~right, mib=peaks).sort_values(["wrong", "mib"])
    return ranked.drop_duplicates("size").sort_index()


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Arrangements with predictions, without ceilings, which older points measured."""
    best = best_sublayers(case_of(point, point["size"], point["precision"]))
    return [
        _arranged(replace(case_of(point, row["size"], row["precision"]), layers=row["layers"]), row)
        | {"predicted_best": best}
        for row in rows
        if row["measurement"] != "ceiling"
    ]


def best_sublayers(case: Case) -> int:
    """How many sublayers to checkpoint as one for the least peak; the most of those within a
    thousandth: of fewer sublayers more inputs are kept, for nothing."""
    peaks = {
        number: step_memory.step_peak_bytes(case, step_memory.each(case.layers, number))
        for number in range(1, PER_BLOCK * case.layers + 1)
    }
    least = min(peaks.values())
    return max(number for number, peak in peaks.items() if peak <= least * 1.001)


def _arranged(case: Case, row: Row) -> Row:
    """A row with predictions and, where it ran, its peak (MiB)."""
    layers, sublayers = row["layers"], row["sublayers"]
    if row["nested"]:
        checkpoints, passes = step_memory.halves(layers), flops.nested_passes(layers)
        again = flops.nested_recomputed_flops(case)
    else:
        checkpoints = step_memory.each(layers, sublayers)
        passes = layers * bool(sublayers)
        again = flops.recomputed_flops(case, sublayers)
    known = {
        "predicted_peak_mib": step_memory.step_peak_bytes(case, checkpoints) / MIB,
        "weights_and_state_mib": step_memory.weights_and_state_bytes(case) / MIB,
        "flops": flops.phase_flops(case, "train_step"),
        "recomputed_flops": again,
        "predicted_passes": layers + passes,
    }
    ran = {"peak_mib": row["peak_bytes"] / MIB} if row["status"] == "ok" else {}
    return row | dimensions(case) | known | ran
