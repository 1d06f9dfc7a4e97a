"""What was measured to pay: training steps of cases that differ in nothing but one remedy.

Where the device works for most of both steps, their times are compared whatever the hosts; where it
waits for launches, only those of equally fast hosts of one kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any

from markupsafe import Markup

from workflow_src.answers import wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.hosts import Hosts, alike
from workflow_src.answers.wording import median_of
from workflow_src.common.case import ATTENTIONS, OPTIMIZERS, PRECISIONS
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.markdown import Column, limit, markdown_table, percent, whole

PLAIN = {"precision": PRECISIONS, "attention": ATTENTIONS, "optimizer": OPTIMIZERS}
"""The axes along which one case is another's remedy, from plain to better."""

SAME_WITHIN = 0.02
"""A step that changes by at most this share is called the same."""

Pairs = Mapping[tuple[Any, ...], Row]
"""Pairs by what their two cases share."""


def tried(rows: Sequence[Row], hosts: Hosts) -> list[Row]:
    """What was measured in two variants: a row per axis and pair of values, the largest gain first.

    `groups` are the pairs that were compared: those that are busy and those that wait, if there are
    any (see `_group`). `elsewhere`, how many pairs wait and were measured on hosts that differ;
    `work`, how much longer the device works (see `device_work`).
    """
    found = []
    for axis, plain, better in _variants(rows):
        pairs = list(_pairs(rows, hosts, axis, plain, better).values())
        groups = [
            _group([pair for pair in pairs if _compared(pair) and pair["busy"] is busy], busy)
            for busy in (True, False)
        ]
        if any(groups):
            about: Row = {"axis": axis, "plain": plain, "better": better}
            about["groups"] = [group for group in groups if group]
            about["elsewhere"] = sum(not _compared(pair) for pair in pairs)
            found.append(about | {"work": device_work(rows, axis, plain, better)})
    return sorted(found, key=lambda row: float(row["groups"][0]["ratio"]))


def paid(found: Sequence[Row], rows: Sequence[Row], hosts: Hosts) -> Row:
    """What pays most of what `tried` found, with its rivals, which replace the same plain value.

    They are compared over the cases that each of them has, busy ones if there are any ("busy"),
    else any ("each"): medians over different cases don't tell which pays more. "alike" are those
    within SAME_WITHIN of the best, "undecided" the others that aren't shown to pay less: see
    `_undecided`.
    """
    axis, plain = found[0]["axis"], found[0]["plain"]
    names = [row["better"] for row in found if row["plain"] == plain]
    every = {name: _pairs(rows, hosts, axis, plain, name) for name in names}
    pairs, common = _in_common(every)
    over = {name: [of[key]["ratio"] for key in common or of] for name, of in pairs.items()}
    rivals: list[Row] = [
        {"better": name, "cases": len(ratios), "ratio": float(median(ratios))}
        for name, ratios in over.items()
    ]
    rivals.sort(key=lambda row: row["ratio"])
    best, most = rivals[0]["better"], (1 + SAME_WITHIN) * rivals[0]["ratio"]
    others = [row["better"] for row in rivals if row["ratio"] > most]
    undecided = [_undecided(name, pairs[best], pairs[name]) for name in others]
    return {
        "axis": axis,
        "plain": plain,
        "rivals": rivals,
        "alike": [row["better"] for row in rivals if row["ratio"] <= most],
        "undecided": [
            each | {"work": device_work(rows, axis, best, each["better"])}
            for each in undecided
            if each
        ],
        "busy": bool(common) and all(of[key]["busy"] for of in pairs.values() for key in common),
        "each": bool(common) and any(set(of) != common for of in pairs.values()),
    }


def _in_common(
    every: Mapping[str, Pairs],
) -> tuple[dict[str, dict[tuple[Any, ...], Row]], set[tuple[Any, ...]]]:
    """The pairs of each rival to judge by, and the cases that all of them have, if any."""
    compared = {
        name: {key: pair for key, pair in of.items() if _compared(pair)}
        for name, of in every.items()
    }
    busy = {
        name: {key: pair for key, pair in of.items() if pair["busy"]}
        for name, of in compared.items()
    }
    for pairs in (busy, compared):
        if common := set.intersection(*map(set, pairs.values())):
            return pairs, common
    return compared, set()


def _undecided(name: str, best: Pairs, other: Pairs) -> Row | None:
    """In how many of the cases that both have the best, or the other, is shorter beyond doubt.

    That is if even its slowest process is faster than the other's fastest one; see
    `remedies.unprofiled`. None if the best is so more often than the other.
    """
    both = [(best[key], other[key]) for key in best.keys() & other.keys()]
    shorter = sum(mine["most_ms"] < its["least_ms"] for mine, its in both)
    longer = sum(mine["least_ms"] > its["most_ms"] for mine, its in both)
    found = {"better": name, "of": len(both), "shorter": shorter, "longer": longer}
    return found if longer >= shorter else None


def device_work(rows: Sequence[Row], axis: str, one: str, other: str) -> Row | None:
    """How long the device works with `other`, as a share of its time with `one`: the median.

    Over the cases that have both, on whatever hosts, because these don't change it. `less`: in how
    many it works less. None if there are no such cases.
    """
    busy = {
        name: {
            wording.all_but(row, axis): row["savings"]["idle"]["busy_ms"]
            for row in rows
            if row[axis] == name and "savings" in row
        }
        for name in (one, other)
    }
    ratios = [busy[other][key] / busy[one][key] for key in busy[one].keys() & busy[other].keys()]
    less = sum(ratio < 1 for ratio in ratios)
    return {"cases": len(ratios), "less": less, "ratio": median(ratios)} if ratios else None


def _variants(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """Each axis with two of its values, the plainer first, that some rows have."""
    for axis, values in PLAIN.items():
        there = [value for value in values if any(row[axis] == value for row in rows)]
        yield from ((axis, plain, better) for plain, better in combinations(there, 2))


def _pairs(
    rows: Sequence[Row], hosts: Hosts, axis: str, plain: str, better: str
) -> dict[tuple[Any, ...], Row]:
    """Each case with the better value, by what it shares with its plain one.

    With "ratio" to that one, "alike" if their hosts are, "throttled" if either was, and "busy" if
    both are known not to wait for launches.
    """
    before = {wording.all_but(row, axis): row for row in rows if row[axis] == plain}
    pairs = {}
    for row in rows:
        other = before.get(wording.all_but(row, axis))
        if row[axis] == better and other is not None:
            mine, its = hosts[row["case"]], hosts[other["case"]]
            about = {"before_ms": other["median_ms"], "alike": alike(mine, its)}
            about["throttled"] = mine.throttled or its.throttled
            about["busy"] = not (row.get("waits", True) or other.get("waits", True))
            ratio = row["median_ms"] / other["median_ms"]
            pairs[wording.all_but(row, axis)] = row | about | {"ratio": ratio}
    return pairs


def _compared(pair: Row) -> bool:
    return bool(pair["busy"] or pair["alike"])


def _group(pairs: Sequence[Row], busy: bool) -> Row | None:
    """The median ratio of some pairs and the extremes; None without pairs."""
    if not pairs:
        return None
    return {
        "busy": busy,
        "cases": len(pairs),
        "ratio": median_of(pairs, "ratio"),
        "least": max(pairs, key=lambda row: row["ratio"]),
        "most": min(pairs, key=lambda row: row["ratio"]),
        "slower": sum(row["ratio"] > 1 + SAME_WITHIN for row in pairs),
    }


def measured_table(found: Sequence[Row], on_cpu: bool) -> Markup:
    """What `tried` found: each comparison's groups, and below them the device's own work."""
    columns = [
        Column("what changes", "what"),
        Column(f"{'operators run' if on_cpu else 'the GPU works'} for", "where"),
        Column("cases", "cases", whole),
        Column("median", "ratio", percent),
        Column("shortest", "shortest"),
        Column("longest", "longest"),
        Column(f"slower by more than {limit(SAME_WITHIN)}", "slower", whole),
    ]
    lines = [line | {"state": "none"} for each in found for line in _lines(each, on_cpu)]
    return markdown_table(lines, columns)


def _lines(each: Row, on_cpu: bool) -> list[Row]:
    share = limit(LAUNCH_BOUND_BELOW)
    lines: list[Row] = [
        {
            "where": f"at least {share} of both" if group["busy"] else "less of one, or of both",
            "shortest": _extreme(group["most"]),
            "longest": _extreme(group["least"]),
        }
        | {name: group[name] for name in ("cases", "ratio", "slower")}
        for group in each["groups"]
    ]
    if each["work"] and not on_cpu:
        lines.append({"where": "its own work alone"} | each["work"])
    first = {"what": f"{each['better']} in place of {each['plain']}"}
    return [first | lines[0], *({"what": ""} | line for line in lines[1:])]


def _extreme(pair: Row) -> str:
    throttled = "; throttled" if pair["throttled"] else ""
    return f"{percent(pair['ratio'])} ({pair['brief']}{throttled})"
