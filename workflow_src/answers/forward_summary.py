"""What the text of answer (a) says over several cases, precision by precision."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise, starmap

from workflow_src.answers import (
    comparable,
    example_case,
    forward_example,
    launch_bound,
    launch_queue,
    step_ledger,
    wording,
)
from workflow_src.answers.evidence import Row
from workflow_src.answers.wording import median_of


def summarize(
    rows: Sequence[Row],
    words: Mapping[str, str],
    kinds: Iterable[str],
    example: Row | None = None,
) -> Row:
    """Values for the template, from the rows that `forward_time.measure` gives.

    `kinds` are all verdicts that a row may have, `example` is the case to work through.
    """
    named = wording.named(rows)
    timed = [row for row in named if "median_ms" in row]
    compared = [row for row in named if "verdict" in row]
    worked = [r for r in example_case.beside(compared, example) if "working_share" in r]
    verdicts = {kind: [row for row in compared if row["verdict"] == kind] for kind in kinds}
    idle_yet_matching = [row for row in verdicts["match"] if row.get("often_idle")]
    return {
        "works": wording.works(words),
        "timed": timed,
        "host": [row["host_ms"] for row in named if "host_ms" in row],
        "compared": compared,
        "precisions": [
            precision_row(precision, mine, [r for r in timed if r["precision"] == precision])
            for precision, mine in wording.by_precision(compared).items()
        ],
        "counts": {name: len(mine) for name, mine in verdicts.items()},
        "listed": {name: wording.listed(mine) for name, mine in verdicts.items()},
        "working": working(verdicts),
        "idle_yet_matching": wording.listed(idle_yet_matching),
        "processes_differ": all(
            row.get("process_spread", 0.0) > comparable.MATCH_WITHIN for row in idle_yet_matching
        ),
        "falls": falls(timed),
        "example": example,
        "worked": worked if len(compared) > 1 else [],
        "slowed": forward_example.slowed(worked),
        "examples": examples(verdicts),
        "withheld": comparable.summarize(named),
        "processes": between_processes(named),
        "launch_bound": launch_bound.summarize(named),
        "ledger": step_ledger.summarize(named),
        "launches": launch_queue.summarize(named),
    }


def falls(timed: Sequence[Row]) -> Row:
    """In how many series over contexts a longer one takes less time by its median, of how many.

    `apart`: in how many of them by more than the medians of the processes of the two cases differ,
    or, of a case with one process, the 20th and 80th percentile of its samples.
    `busier`: whether the device works longer at each of those longer contexts, so that the time in
    which it is idle is what got shorter. `replays_rise`: whether each takes longer replayed,
    without the host's work for each kernel, so that this work makes the difference.
    """
    series: dict[tuple[object, ...], list[Row]] = {}
    for row in timed:
        series.setdefault(wording.all_but(row, "context"), []).append(row)
    rising = [sorted(each, key=lambda row: row["context"]) for each in series.values()]
    several = [each for each in rising if len(each) > 1]
    falling = [
        [pair for pair in pairwise(each) if pair[1]["median_ms"] < pair[0]["median_ms"]]
        for each in several
    ]
    return {
        "series": len(several),
        "fall": sum(bool(pairs) for pairs in falling),
        "apart": sum(any(starmap(_is_clear, combinations(each, 2))) for each in several),
        "busier": _rise(falling, "busy_ms"),
        "replays_rise": _rise(falling, "replayed_median_ms"),
    }


def _is_clear(shorter: Row, longer: Row) -> bool:
    """Whether even the slowest of the second case's times is shorter than the first's fastest."""
    slowest = longer["slowest_ms" if "slowest_ms" in longer else "p80_ms"]
    fastest = shorter["fastest_ms" if "fastest_ms" in shorter else "p20_ms"]
    return bool(slowest < fastest)


def _rise(series: Iterable[Sequence[tuple[Row, Row]]], key: str) -> bool:
    """Whether a value is known and rises from the first to the second of each pair."""
    return all(0 < low.get(key, 0) < high.get(key, 0) for pairs in series for low, high in pairs)


def idler(fastest: Row, timed: Iterable[Row]) -> Row | None:
    """The case that differs from the fastest in a shorter context only, if its device idles longer.

    The one of the shortest context; None on a CPU, and where the device's work isn't known.
    """
    series = wording.all_but(fastest, "context")
    mine = [
        row
        for row in timed
        if wording.all_but(row, "context") == series and row["context"] < fastest["context"]
    ]
    row = min(mine, key=lambda row: row["context"], default=fastest)
    known = row["device"] != "cpu" and row.get("busy_ms", 0) > 0 and fastest.get("busy_ms", 0) > 0
    return row if known and _idle_ms(row) > max(0.0, _idle_ms(fastest)) else None


def _idle_ms(row: Row) -> float:
    """How much longer the unprofiled pass takes than the device's work in the capture."""
    return float(row["median_ms"] - row["busy_ms"])


def precision_row(precision: str, rows: Sequence[Row], timed: Sequence[Row]) -> Row:
    """How far the times agree in the compared `rows` of one precision, of those that were timed."""
    fastest = min(timed, key=lambda row: row["median_ms"])
    return {
        "precision": precision,
        "cases": len(rows),
        "matching": wording.in_cases(sum(r["verdict"] == "match" for r in rows), len(rows)),
        "overhead": median_of(rows, "overhead"),
        "worst": max(rows, key=lambda row: abs(row["overhead"])),
        "fastest": fastest,
        "shorter": idler(fastest, timed),
        "slowest": max(timed, key=lambda row: row["median_ms"]),
        "working": median_working(rows),
    }


def median_working(rows: Sequence[Row]) -> float | None:
    """The device's median share of the unprofiled time; None if not known or above 100 %."""
    over = [math.inf for row in rows if row["doubt"] == comparable.OVER]
    shares = over + [row["working_share"] for row in rows if "working_share" in row]
    middle = statistics.median(shares) if shares else math.inf
    return None if math.isinf(middle) else float(middle)


def working(verdicts: Mapping[str, Sequence[Row]]) -> Row:
    """The device's median share of the unprofiled time, where times match and where they don't.

    Only cases that take longer under the profiler count as not matching: "longer". "late" are
    those of them in which the device works for most of the unprofiled time.
    """
    idle, late = verdicts["idle"], verdicts["profiler_overhead"]
    longer = [*idle, *late, *verdicts["slower_operators"]]
    return {
        "longer": len(longer),
        "early": wording.in_cases(len(idle), len(longer)),
        "late": wording.in_cases(len(late), len(longer)),
        "match_share": median_working(verdicts["match"]),
        "longer_share": median_working(longer),
        "late_share": median_working(late),
        "late_profiled_share": median_of(late, "busy_share") if late else None,
        "late_waits": _late_waits(late),
    }


def _late_waits(late: Sequence[Row]) -> float | None:
    """For which share of the profiled time the device waits for a launch; None without a ledger."""
    known = bool(late) and all("idle_launch_share" in row for row in late)
    return median_of(late, "idle_launch_share") if known else None


def examples(verdicts: Mapping[str, Sequence[Row]]) -> list[Row]:
    """A typical case that matches, and a typical one that takes longer under the profiler."""
    match = [row for row in verdicts["match"] if "working_share" in row]
    longer = [*verdicts["idle"], *verdicts["profiler_overhead"]]
    found = (
        wording.nearest_to_median(group, lambda row: float(row["overhead"]))
        for group in (match, longer)
    )
    return [row for row in found if row]


def between_processes(rows: Sequence[Row]) -> Row | None:
    """The spread of medians between processes; None unless several processes measured a case.

    "no_more" are cases whose profiled time differs from the median but not from every process's.
    """
    spread = [row for row in rows if "process_spread" in row]
    if not spread:
        return None
    differ = [row for row in spread if row.get("verdict", "match") != "match"]
    return {
        "cases": len(spread),
        "every": len(spread) == sum("median_ms" in row for row in rows),
        "where": wording.in_cases(len(spread), sum("median_ms" in row for row in rows)),
        "numbers": [row["processes"] for row in spread],
        "unsteady": sum(row["process_spread"] > comparable.MATCH_WITHIN for row in spread),
        "median": median_of(spread, "process_spread"),
        "widest": max(spread, key=lambda row: row["process_spread"]),
        "no_more": wording.listed(
            [row for row in differ if row["fastest_ms"] <= row["host_ms"] <= row["slowest_ms"]]
        ),
    }
