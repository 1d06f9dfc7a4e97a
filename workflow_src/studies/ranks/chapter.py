"""Study ranks: what communication costs each way of training, and what it hides of that."""

from dataclasses import replace

import pandas as pd

from workflow_src.common.datasheets import LINKS_GB_PER_S
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.number import NAN, Number, Numbers, each, of, to
from workflow_src.paper.run import Run, first, ordered
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, sortable, span, unmeasured
from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.study import Point, Row

NAMES = {
    "alone": "no communication",
    "naive": "naive: an all-reduce per parameter, after backward",
    "flat": "flat: one all-reduce, after backward",
    "overlapped": "overlapped: an all-reduce per parameter, during backward",
    "bucketed": "in buckets: DistributedDataParallel",
    "sharded_optimizer": "overlapped, optimizer in shards",
    "fsdp": "FSDP2",
}
GRADIENTS_EQUAL, PARAMETERS_EQUAL = 1e-4, 1e-2
"""What rounding may do to gradients in float32, and to a step of AdamW, which depends on the sign
of gradients that are nearly 0."""

ALL_GRADIENTS = ("naive", "flat", "overlapped", "bucketed")
"""Ways in which all-reduces move each gradient once, and nothing else is moved."""

LITTLE = 1.05
"""Communication costs little where the best way's step takes at most so much of one without it."""

LINKS = {gpu: Number(rate, "GB/s", formula="NVLink") for gpu, rate in LINKS_GB_PER_S.items()}


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "ranks")
    table = table.assign(
        case=(table["size"] + " " + table["precision"]).str.strip(),
        name=table["way"].map(lambda way: NAMES.get(way, way)),
    )
    reduced = all_reduces(table[table["measurement"] == "all_reduce"])
    ways = of_ways(table[table["measurement"] == "training"])
    ways["unhidden_ms"] = unhidden_ms(ways, reduced)
    return verdict(ways) | {
        "context": span(ways["context"]),
        "batch": span(ways["batch"]),
        "ways": ways,
        "reduced": reduced,
        "missing": unmeasured(table, "measurement", "case", "way"),
    }


def of_ways(trained: pd.DataFrame) -> pd.DataFrame:
    """The ways of each case in the order of NAMES, beside its step without communication.

    works: the device's share of the step without communication, known on a GPU; waits: whether that
    is below WORKING_FULLY, so that communication may hide in waits for launches.
    """
    rows = ordered(ordered(trained, "way", NAMES), "case", trained["case"])
    ms = rows["median_ms"].where(rows["ok"])
    alone = rows.assign(ms=ms)[rows["way"] == "alone"].drop_duplicates("case").set_index("case")
    works = to(alone["compute_ms"].where(alone["gpu"] != "") / alone["ms"], "share")
    over = ms / rows["case"].map(alone["ms"])
    before, within = rows["before_optimizer_mib"], rows["optimizer_mib"]
    peak = before.where(before.notna() & ~(within > before), within)
    wrong = rows["gradient_error"] > GRADIENTS_EQUAL
    peaks = ("initialized", "held", "before_optimizer", "optimizer")
    return rows.assign(
        ms=ms,
        shown=or_state(rows["time"], rows),
        over=each(over, lambda ratio: replace(ratio, digits=3)).where(rows["way"] != "alone"),
        works=rows["case"].map(works).where(rows["way"] == "alone"),
        waits=rows["case"].map(works < WORKING_FULLY).eq(True),
        wrong=wrong | (rows["parameter_error"] > PARAMETERS_EQUAL),
        peak=to(peak, "GiB"),
        traced=rows["recorded_ms"] / ms,
        **{name: to(rows[f"{name}_mib"], "GiB") for name in peaks},
    )


def verdict(ways: pd.DataFrame) -> Facts:
    """The best and worst way of each case, of those that don't wait if there are any."""
    known = ways[ways["over"].notna()]
    judged = known[~known["waits"]] if (~known["waits"]).any() else known
    places = judged["over"].astype(float).groupby(judged["case"], sort=False)
    best, worst = judged.loc[places.idxmin()], judged.loc[places.idxmax()]
    error = of(ways["gradient_error"].where(ways["ok"]), "max")
    wrong = ways[ways["wrong"]]
    on_gpu = (best["gpu"] != "").any()
    found = "little" if (best["over"] <= LITTLE).all() else "much"
    found = "waits" if best["waits"].any() else found
    found = found if on_gpu else "on a CPU" if error == error else "can't tell"
    found = found if len(best) else "can't tell"
    return {
        "verdict": "wrong" if len(wrong) else found,
        "error": error,
        "wrong": " or ".join(wrong["name"].unique()),
        "works": span(ways["works"]),
        "cases": " or ".join(best["case"]),
        "least": ends(best["over"]),
        "best": " or ".join(best["name"].unique()),
        "most": ends(worst["over"]),
    }


def ends(over: Numbers) -> object:
    """The least to the most, with the digits that times of three digits bear; NaN without any."""
    ordered = sorted(over.dropna(), key=float)
    low, high = (ordered[0], ordered[-1]) if ordered else (NAN, NAN)
    return low if str(low) == str(high) else (low, " to ", high)


def all_reduces(rows: pd.DataFrame) -> pd.DataFrame:
    """Their bus bandwidth as a share of the link's."""
    rows = rows[rows["ok"]]
    link = rows["gpu"].map(LINKS)
    return rows.assign(mb=to(rows["bytes"], "MB"), of_link=to(rows["bus_gb_per_s"] / link, "share"))


def unhidden_ms(ways: pd.DataFrame, reduced: pd.DataFrame) -> Numbers:
    """What an all-reduce of all gradients takes alone, at the rate of the largest one measured."""
    width, wide = ways["d_model"], ways["d_ff"]
    block = 4 * (width * width) + 3 * (width * wide) + 2 * width
    weights = ways["layers"] * block + 2 * (ways["vocabulary"] * width) + width
    gradients = each((4 * weights).astype(object), lambda number: replace(number, unit="bytes"))
    largest = first(reduced.sort_values("bytes", key=sortable)[::-1])
    found: Numbers = gradients / largest["bytes"] * largest["median_ms"]
    return found.where(ways["way"].isin(ALL_GRADIENTS))


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """All-reduces with their bandwidths, or ways with the model's size."""
    ranks = {"ranks": point["ranks"]}
    if point["measurement"] == "all_reduce":
        return [row | ranks | bandwidths(row, point["ranks"]) for row in rows]
    about = ranks | dimensions(case_of(point, point["size"], point["precision"]))
    return [row | about for row in rows]


def bandwidths(row: Row, ranks: int) -> Row:
    """Algorithm and bus bandwidth (GB/s) of an all-reduce's median; empty without one.

    The first is its bytes over its time, the second what a link carries of them: 2 (n - 1) / n
    times that for n ranks (doc/PERFORMANCE.md of NVIDIA's nccl-tests).
    """
    if row["status"] != "ok":
        return {}
    rate = row["bytes"] / (row["median_ms"] * 1e6)
    return {"algorithm_gb_per_s": rate, "bus_gb_per_s": rate * 2 * ((ranks - 1) / ranks)}
