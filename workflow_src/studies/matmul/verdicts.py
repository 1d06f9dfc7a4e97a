"""The verdicts on the fine sweeps of matrix products: waves, one row more, and divisors."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from workflow_src.studies.matmul.tiles import TILE, sizes_past, tiles, waves
from workflow_src.studies.matmul.waves import sides
from workflow_src.studies.study import Row

DROP = 0.05
"""Rates that differ by at least this share count as different."""

TOLD = ("precision", "n", "multiprocessors", "tflops", "kernel", "tile", "tiles", "waves")
"""What the sentences take from a row."""


def told(row: Row) -> Row:
    """What the sentences take from a row; None for what it doesn't have."""
    return {name: row.get(name) for name in TOLD}


def neighbors(low: Row, high: Row) -> dict[str, Any]:
    """Two sizes in a row, `below` and `above`, and the share of the rate that is lost between them.

    `known`: whether the waves of both are; `rises`: whether the larger one is known to take more.
    """
    known = bool(low.get("waves") and high.get("waves"))
    return {
        "below": told(low),
        "above": told(high),
        "drop": 1 - high["tflops"] / low["tflops"],
        "known": known,
        "rises": known and high["waves"] > low["waves"],
        "expected": expected_drop(low, high) if known else None,
    }


def expected_drop(low: Row, high: Row) -> float | None:
    """Share of the rate that is lost by waves alone; None if the tiles are of different shapes.

    A wave of one tile takes a time proportional to n, so the rate is as n^3 / (n waves). Another
    tile may compute faster or slower, so that its waves can't be compared.
    """
    if sides(low["tile"]) != sides(high["tile"]):
        return None
    rates = [row["n"] ** 2 / row["waves"] for row in (low, high)]
    return float(1 - rates[1] / rates[0])


def edge_verdict(rows: Sequence[Row]) -> dict[str, Any] | None:
    """What the rate does where the waves first rise, at the assumed edge, and where it drops most.

    `drop`: whether the largest drop is "at_rise", "elsewhere" or "none" (below DROP). Returns None
    if the assumed edge, or the size after it, is not among `rows`, which are in rising order of n.
    `compared`: of how many neighbors the waves are known.
    """
    pairs = [neighbors(low, high) for low, high in pairwise(rows)]
    edge = next((int(row["edge"]) for row in rows), 0)
    assumed = next((pair for pair in pairs if pair["below"]["n"] == edge), None)
    if assumed is None:
        return None
    rise = next((pair for pair in pairs if pair["rises"]), None)
    largest = max(pairs, key=lambda pair: float(pair["drop"]))
    place = "at_rise" if largest is rise else "elsewhere"
    return {
        "rise": rise,
        "assumed": assumed,
        "largest": largest,
        "rise_at_edge": rise is assumed,
        "drop": place if largest["drop"] >= DROP else "none",
        "compared": sum(pair["known"] for pair in pairs),
        "sizes": len(rows),
    } | _tiles_that_ran(rows, edge)


def _tiles_that_ran(rows: Sequence[Row], edge: int) -> dict[str, Any]:
    """How many kernels' names tell a tile, how many the assumed one, and what that one takes."""
    tiled = [sides(row["tile"]) for row in rows if row.get("tile")]
    there = int(rows[0]["multiprocessors"])
    return {
        "tiled": len(tiled),
        "as_assumed": tiled.count((min(TILE), max(TILE))),
        "assumed_tiles": tiles(edge),
        "assumed_tiles_past": tiles(edge + 1),
        "assumed_waves": waves(edge, there),
        "multiprocessors": there,
    }


def just_past(rows: Sequence[Row], fine: Sequence[Row]) -> dict[str, Any] | None:
    """The rates at an edge, with one more row, and at the next aligned size; None without one.

    fine: the rows of all fine sweeps, in which the edge was measured more than once. `change`: over
    the median rate at the edge; `odd`: the share of the aligned size's rate that one more row is
    short of; `within`: whether the aligned size's rate is one that the edge had, too; `more_waves`:
    whether one more row is known to take more waves than the aligned size.
    """
    found = {int(row["n"]): row for row in rows}
    sizes = sizes_past(min(found)) if found else []
    if not sizes or not found.keys() >= set(sizes):
        return None
    edge, more, aligned = (told(found[n]) for n in sizes)
    base = repeated([row for row in fine if all(row[k] == edge[k] for k in ("n", "precision"))])
    found_past = {"more": more, "aligned": aligned}
    return found_past | {
        "edge": edge,
        "base": base,
        "change": {name: row["tflops"] / base["tflops"] - 1 for name, row in found_past.items()},
        "within": base["differ"] and base["least"] <= aligned["tflops"] <= base["most"],
        "more_waves": (more["waves"] or 0) > (aligned["waves"] or more["waves"] or 0),
        "odd": 1 - more["tflops"] / aligned["tflops"],
    }


def repeated(rows: Sequence[Row]) -> dict[str, Any]:
    """The median and range (TFLOP/s) of measurements of one product, and the share they differ by.

    `differ`: whether that is at least DROP.
    """
    rates = [float(row["tflops"]) for row in rows]
    least, most = min(rates), max(rates)
    found = {"tflops": median(rates), "least": least, "most": most, "times": len(rates)}
    return found | {"spread": 1 - least / most, "differ": 1 - least / most >= DROP}


def divisor_classes(rows: Sequence[Row]) -> list[Row]:
    """The median and range of the rates for each divisor, largest divisor first.

    `tiles`: how many the sizes take, by the tiles that ran; empty if that isn't known of all.
    """
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -int(row["divisor"])):
        found.setdefault(int(row["divisor"]), []).append(row)
    return [
        {
            "divisor": divisor,
            "sizes": len(mine),
            "tflops": median(row["tflops"] for row in mine),
            "least": min(row["tflops"] for row in mine),
            "most": max(row["tflops"] for row in mine),
            "kernels": sorted({row["kernel"] for row in mine}),
            "tiles": sorted({row["tiles"] for row in mine}) if _all_tiled(mine) else [],
        }
        for divisor, mine in found.items()
    ]


def _all_tiled(rows: Sequence[Row]) -> bool:
    return all(row.get("tiles") for row in rows)


def divisor_verdict(classes: Sequence[Row]) -> dict[str, Any] | None:
    """The divisors with the highest and lowest median rate, and the gap between them as a share.

    `alike`: those whose median is within DROP of the highest. `rising`: whether the median never
    falls from a divisor to the next larger one. `other_kernels`: whether none of the slowest runs
    in those. `tiles`: how many all sizes take, if equally many.
    """
    if len(classes) < 2:
        return None
    fastest = max(classes, key=lambda row: float(row["tflops"]))
    slowest = min(classes, key=lambda row: float(row["tflops"]))
    rates = [row["tflops"] for row in classes]
    gap = 1 - slowest["tflops"] / fastest["tflops"]
    alike = [row for row in classes if 1 - row["tflops"] / fastest["tflops"] < DROP]
    counts = {tuple(row["tiles"]) for row in classes}
    tiled = counts.pop() if len(counts) == 1 else ()
    return {
        "fastest": fastest,
        "slowest": slowest,
        "alike": alike,
        "other_kernels": not any(set(row["kernels"]) & set(slowest["kernels"]) for row in alike),
        "gap": gap,
        "seen": gap >= DROP,
        "rising": rates == sorted(rates, reverse=True),
        "tiles": tiled[0] if len(tiled) == 1 else None,
    }
