"""What the text of answer (f) says over several cases, precision by precision."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from statistics import median

from workflow_src.answers import comparable, example_case, wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.remedies import REMEDIES
from workflow_src.answers.wording import median_of
from workflow_src.common.case import ATTENTIONS, OPTIMIZERS, PRECISIONS
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW

PLAIN = {"precision": PRECISIONS, "attention": ATTENTIONS, "optimizer": OPTIMIZERS}
"""The axes along which one case is another's remedy, from plain to better."""

OWN = "a typical case"

SAME_WITHIN = 0.02
"""A step that changes by at most this share is called the same."""


def summarize(rows: Sequence[Row], example: Row | None = None) -> Row:
    """Values for the template, from the rows that `change_first.measure` gives.

    `example` is the case to work through; see example_case.
    """
    named = wording.named(rows)
    bounded = [row for row in named if "savings" in row]
    own = wording.nearest_to_median(_last(bounded), lambda row: row["largest_share"])
    worked = example_case.beside(bounded, example) or ([own] if own else [])
    precisions = [precision_row(name, mine) for name, mine in wording.by_precision(bounded).items()]
    known = [row for row in named if "median_ms" in row and row["doubt"] != comparable.BUSY]
    found = tried(known)
    return {
        "bounded": bounded,
        "precisions": precisions,
        "remedies": [key for key in REMEDIES if any(key in row["savings"] for row in bounded)],
        "replayed": sum(each["replayed"] for each in precisions),
        "beyond_bound": beyond_bound(bounded),
        "withheld": comparable.summarize([row for row in named if "median_ms" in row]),
        "tried": found,
        "pays": most_paid(found, known) if found else None,
        "working_limit": LAUNCH_BOUND_BELOW,
        "worked": worked,
        "worked_hosts": len({row["host"] for row in worked}),
        "said": example_case.said(worked[0] if worked else None, example, OWN, len(bounded)),
    }


def _last(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last precision: the one in which the remedies matter most."""
    groups = list(wording.by_precision(rows).values())
    return groups[-1] if groups else []


def precision_row(precision: str, rows: Sequence[Row]) -> Row:
    """Medians of each remedy's share in the cases of one precision, the largest first."""
    keys = [key for key in REMEDIES if any(key in row["savings"] for row in rows)]
    shares = {
        key: median_of([r for r in rows if key in r["savings"]], f"{key}_share") for key in keys
    }
    order = sorted(shares, key=lambda key: -shares[key])
    idle = [row for row in rows if row["waits"]]
    replayed = [row for row in rows if "replay_share" in row]
    return {
        "precision": precision,
        "cases": len(rows),
        "shares": shares,
        "order": order,
        "replayed": len(replayed),
        "replay": median_of(replayed, "replay_share") if replayed else None,
        "replay_bound": median_of(replayed, "idle_share") if replayed else None,
        "idle": wording.in_cases(len(idle), len(rows)),
        "often_idle": len(idle),
    }


def beyond_bound(rows: Sequence[Row]) -> Row | None:
    """The cases in which a replay saved more than the bound of idle time; None if none did."""
    replayed = [row for row in rows if "replay_share" in row]
    beyond = [row for row in replayed if row["replay_share"] > row["idle_share"]]
    if not beyond:
        return None
    most = max(beyond, key=lambda row: row["replay_share"] - row["idle_share"])
    return {"in_cases": wording.in_cases(len(beyond), len(replayed)), "most": most}


def tried(rows: Sequence[Row]) -> list[Row]:
    """What was measured in two variants: a row per axis and pair of values, the largest gain first.

    `ratio` is the median of the training step's time with the second value over that with the
    first, over the cases that differ in nothing else, not even in their kind of host; `elsewhere`,
    how many pairs do differ in that.
    """
    found = []
    for axis, plain, better in _variants(rows):
        every = _pairs(rows, axis, plain, better)
        pairs = [row for row in every if row["same_host"]]
        if pairs:
            left_out = {"elsewhere": len(every) - len(pairs)}
            found.append(_tried_row(axis, plain, better, pairs) | left_out)
    return sorted(found, key=lambda row: row["ratio"])


def most_paid(found: Sequence[Row], rows: Sequence[Row]) -> Row:
    """What pays most of what `tried` found, with its rivals, which replace the same plain value.

    They are compared over the cases that each of them has, if there are any ("each"): medians over
    different cases don't tell which pays more. "alike" are those within SAME_WITHIN of the best,
    "undecided" the others that aren't shown to pay less: see `_undecided`.
    """
    axis, plain = found[0]["axis"], found[0]["plain"]
    names = [row["better"] for row in found if row["plain"] == plain]
    pairs = {name: _alike_but(rows, axis, plain, name) for name in names}
    common = set.intersection(*map(set, pairs.values()))
    over = {name: [of[key]["ratio"] for key in common or of] for name, of in pairs.items()}
    rivals = [
        {"better": name, "cases": len(each), "ratio": float(median(each))}
        for name, each in over.items()
    ]
    rivals.sort(key=lambda row: row["ratio"])
    best = rivals[0]
    most = (1 + SAME_WITHIN) * best["ratio"]
    alike = [row["better"] for row in rivals if row["ratio"] <= most]
    others = [row["better"] for row in rivals if row["ratio"] > most]
    undecided = [_undecided(name, pairs[best["better"]], pairs[name]) for name in others]
    work = partial(device_work, rows, axis, best["better"])
    return {
        "plain": plain,
        "rivals": rivals,
        "alike": alike,
        "undecided": [each | {"work": work(each["better"])} for each in undecided if each],
        "each": bool(common) and any(set(of) != common for of in pairs.values()),
    }


def _undecided(name: str, best: dict[object, Row], other: dict[object, Row]) -> Row | None:
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


def _alike_but(rows: Sequence[Row], axis: str, plain: str, better: str) -> dict[object, Row]:
    """The pairs on one kind of host, by what the two cases share: see `_pairs`."""
    pairs = _pairs(rows, axis, plain, better)
    return {wording.all_but(row, axis): row for row in pairs if row["same_host"]}


def _variants(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """Each axis with two of its values, the plainer first, that some rows have."""
    for axis, values in PLAIN.items():
        there = [value for value in values if any(row[axis] == value for row in rows)]
        yield from ((axis, plain, better) for plain, better in combinations(there, 2))


def _pairs(rows: Sequence[Row], axis: str, plain: str, better: str) -> list[Row]:
    """Each case with the better value, with "ratio" to its plain one, and "same_host"."""
    before = {wording.all_but(row, axis): row for row in rows if row[axis] == plain}
    pairs = []
    for row in rows:
        other = before.get(wording.all_but(row, axis))
        if row[axis] == better and other is not None:
            ratio = row["median_ms"] / other["median_ms"]
            about = {"before_ms": other["median_ms"], "same_host": row["host"] == other["host"]}
            pairs.append(row | about | {"ratio": ratio})
    return pairs


def _tried_row(axis: str, plain: str, better: str, pairs: Sequence[Row]) -> Row:
    slower = [row for row in pairs if row["ratio"] > 1 + SAME_WITHIN]
    few = len(slower) <= wording.SHOWN
    return {
        "axis": axis,
        "plain": plain,
        "better": better,
        "cases": len(pairs),
        "ratio": median_of(pairs, "ratio"),
        "least": max(pairs, key=lambda row: row["ratio"]),
        "most": min(pairs, key=lambda row: row["ratio"]),
        "slower": wording.listed(slower) if few else f"{len(slower)} of them",
        "same_within": SAME_WITHIN,
    }
