"""Analyzes why first steps are slow: what the host did in them, and whether loading explains it."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.studies.study import Row
from workflow_src.studies.warmup.host_time import CATEGORIES, FIRST_LAUNCH, OUTSIDE, split
from workflow_src.studies.warmup.points import EAGER, LAZY
from workflow_src.studies.warmup.settled import settled_median

WHOLE = "whole"
PARTS = (WHOLE, *CATEGORIES)
"""The rows of a phase: the whole step, and each category of the host's time in it."""

WORDS = {
    WHOLE: "the whole step",
    FIRST_LAUNCH: "first launches of kernels",
    "launch": "other launches",
    "load": "loading and looking up code",
    "synchronize": "waiting for the device",
    "allocate": "allocating and freeing memory",
    "other_call": "other CUDA calls",
    OUTSIDE: "outside CUDA calls",
}
"""The parts in words, as a table shows them."""

MENTIONED = 0.05
"""A part is mentioned if it is at least this share of what the first step takes longer."""

MAIN = 0.5
"""Loading is the main cause if loading beforehand saves at least this share of the extra time."""


def derive(rows: Iterable[Row]) -> list[Row]:
    """The table's rows: a row per phase and part of traced steps, and per process and phase.

    first_step_ms: of the first step; settled_ms: the median of the last half of the steps, of each
    part by itself; extra_ms: their difference. Rows without a measurement stay as they are.
    """
    traced: dict[str, list[Row]] = {}
    found = []
    for row in rows:
        if row["status"] != "ok":
            found.append(row)
        elif row["sweep"] == "traced":
            # Points measured before points kept the calls have a row per step, already split.
            for step in split(row) if "threads" in row else [row]:
                traced.setdefault(step["phase"], []).append(step)
        else:
            times = _times([ns / NS_PER_MS for ns in row["steps_ns"]])
            found.append(_unlisted(row) | times | {"build_ms": row["build_ns"] / NS_PER_MS})
    return [part for steps in traced.values() for part in _parts(steps)] + found


def _unlisted(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("steps_ns", "build_ns")}


def _times(steps: Sequence[float]) -> Row:
    settled = settled_median(steps)
    return {"first_step_ms": steps[0], "settled_ms": settled, "extra_ms": steps[0] - settled}


def _parts(steps: Sequence[Row]) -> list[Row]:
    """A row per part of a phase's steps, which are in order."""
    same = ("config", "size", "context", "batch", "sweep", "status", "reason", "phase")
    about = {key: steps[0][key] for key in same if key in steps[0]}
    found = []
    for part in PARTS:
        ns = [step["wall_ns"] if part == WHOLE else step["ns"][part] for step in steps]
        row = about | {"part": part} | _times([value / NS_PER_MS for value in ns])
        calls = [step["calls"].get(part) for step in steps]
        if calls[0] is not None:
            row |= {"first_calls": calls[0], "settled_calls": settled_median(calls)}
        kernels = {"kernels": steps[0]["kernels"]} if part == FIRST_LAUNCH else {}
        found.append(row | kernels)
    return found


def summarize(rows: Sequence[Row]) -> dict[str, Any]:
    """What the rows of a table say about the cause, by size and phase; the reasons of gaps.

    recorded, tested: the sizes that have a trace, and a trial with code loaded beforehand.
    """
    mine = [row for row in rows if row.get("sweep")]
    ran = [row for row in mine if row["status"] == "ok"]
    keys = dict.fromkeys((row["size"], row["phase"]) for row in ran)
    lines = [_line(size, phase, ran) for size, phase in keys]
    lines = [line for line in lines if line["traced"] or line["trial"]]
    return {
        "lines": lines,
        "recorded": list(dict.fromkeys(line["size"] for line in lines if line["traced"])),
        "tested": list(dict.fromkeys(line["size"] for line in lines if line["trial"])),
        "problems": list(dict.fromkeys(_problem(row) for row in mine if row["status"] != "ok")),
    }


def _problem(row: Row) -> str:
    what = "nsys recorded no first step"
    what = what if row["sweep"] == "traced" else "a trial of how code is loaded failed"
    return f"In {row['size']}, {what}: {row['reason']}"


def _line(size: str, phase: str, ran: Sequence[Row]) -> Row:
    mine = [row for row in ran if (row["size"], row["phase"]) == (size, phase)]
    named = f"{size}, {PHASE_WORDS[phase]}"
    return {"size": size, "named": named, "traced": _traced(mine), "trial": _trial(mine)}


def _traced(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The whole step, and the parts that make up what the first one takes longer, largest first."""
    parts = {row["part"]: row for row in rows if row["sweep"] == "traced"}
    if not parts:
        return None
    whole = parts.pop(WHOLE)
    least = MENTIONED * whole["extra_ms"]
    longer = [row for row in parts.values() if row["extra_ms"] >= least > 0]
    ordered = sorted(longer, key=lambda row: -float(row["extra_ms"]))
    less = sum(float(row["extra_ms"]) for row in longer) > whole["extra_ms"]
    named = [row | {"purpose": _purpose(row)} for row in ordered]
    return {"whole": whole, "parts": named, "less": less}


PURPOSES = {
    "launch": "to other launches",
    "load": "to loading and looking up code",
    "synchronize": "to waiting for the device",
    "allocate": "to allocating and freeing memory",
    "other_call": "to other CUDA calls",
    OUTSIDE: "to the host's work outside CUDA calls (Python, PyTorch and its libraries)",
}


def _purpose(row: Row) -> str:
    """What the time of a part goes to, as the end of a sentence."""
    if row["part"] != FIRST_LAUNCH:
        return PURPOSES[row["part"]]
    kernels = int(row["kernels"])
    return f"to launching {kernels:,} kernel{'' if kernels == 1 else 's'} for the first time"


def _trial(rows: Sequence[Row]) -> dict[str, Any] | None:
    """First steps with code loaded at first launches and beforehand, and what that explains.

    share: how much of what a first step takes longer is saved; None if it takes no longer. longer:
    the first step takes longer by more than MENTIONED of it, as one that loads a library does.
    prepared: whether cuBLAS had been started before these first steps, which plain and
    library_share say the effect of. overlap, library_overlap: whether processes with and without
    what share and library_share say the effect of overlap, so that it isn't shown.
    """
    prepared = any(_is_prepared(row) for row in rows)
    lazy, eager = _of_mode(rows, LAZY, prepared), _of_mode(rows, EAGER, prepared)
    plain = _of_mode(rows, LAZY, False)
    if not lazy or not eager or not plain:
        return None
    extra, saved = plain["extra_ms"], lazy["first_step_ms"] - eager["first_step_ms"]
    share = saved / extra if extra > 0 else None
    main = share is not None and share >= MAIN
    longer = -saved > MENTIONED * lazy["first_step_ms"]
    found = {"lazy": lazy, "eager": eager, "share": share, "main": main, "longer": longer}
    started = (plain["first_step_ms"] - lazy["first_step_ms"]) / extra if extra > 0 else None
    overlaps = {"overlap": _overlap(lazy, eager), "library_overlap": _overlap(plain, lazy)}
    return found | overlaps | {"prepared": prepared, "plain": plain, "library_share": started}


def _is_prepared(row: Row) -> bool:
    return str(row.get("prepared", "")) == "True"


def _of_mode(rows: Sequence[Row], mode: str, prepared: bool) -> dict[str, Any] | None:
    """Medians over the processes that load code in one way, with cuBLAS started before or not."""
    mine = [row for row in rows if row["sweep"] == "loading" and row["loading"] == mode]
    mine = [row for row in mine if _is_prepared(row) == prepared]
    if not mine:
        return None
    names = ("first_step_ms", "settled_ms", "build_ms")
    found = {name: statistics.median(float(row[name]) for row in mine) for name in names}
    extra = found["first_step_ms"] - found["settled_ms"]
    firsts = [float(row["first_step_ms"]) for row in mine]
    ends = {"least_ms": min(firsts), "most_ms": max(firsts)}
    return found | ends | {"extra_ms": extra, "processes": len(mine)}


def _overlap(slower: Row, faster: Row) -> bool:
    """Whether what has the longer median has a process no slower than one of the other."""
    longer = slower["first_step_ms"] > faster["first_step_ms"]
    return bool(longer and slower["least_ms"] <= faster["most_ms"])


def part_lines(rows: Sequence[Row]) -> list[Row]:
    """A line per size, phase and part, for a table; calls are missing where there are none."""
    return [
        row | {"phase": PHASE_WORDS[row["phase"]], "words": WORDS[row["part"]], "no_calls": "none"}
        for row in rows
        if row.get("sweep") == "traced" and row["status"] == "ok"
    ]


def trial_lines(rows: Sequence[Row]) -> list[Row]:
    """A line per size and phase with both ways of loading code, for a table.

    Without a share where the processes overlap, so that none is shown.
    """
    return [
        line
        | {
            f"{mode}_{key}": value
            for mode in ("lazy", "eager")
            for key, value in trial[mode].items()
        }
        | {"share": None if trial["overlap"] else trial["share"], "no_share": "none"}
        for line in summarize(rows)["lines"]
        if (trial := line["trial"])
    ]
