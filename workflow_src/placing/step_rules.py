"""Which ranges of a capture are steps (docs/captures.md).

First come candidates that are surely steps, as there are several, then fewer, then turns
(turns.py). All steps last, and on their thread they come one after another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.rows import Mask, spans
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.paths import ANY, shapes
from workflow_src.placing.placing import Placed
from workflow_src.placing.turns import (
    NEARLY_ALL,
    between_updates,
    in_turn,
    one_after_another,
    whole,
)

REPEATED, SURE = 2, 3
"""Ranges of one name, from which on they may be steps, and are: two may be a warm-up and a run. Of
those named as steps, one less."""

PROFILERS = r"\AProfilerStep(#\d*|#\*)?\Z"
"""torch.profiler's steps, also where numbers were left out."""

CALLED = r"(?i)((?<![a-z])(step|iteration|iter|batch)[^a-z]*|\Aexecute_(context_)?\*)\Z"
"""The shape of a range that is named as a step, and maybe numbered; also as vLLM's are."""

BY_MODULE = "step by module"
"""Of profile_ranges.py; no step, as its hooks in backward take time."""

ALL = "all"
"""Asks for one step."""


class Rule(StrEnum):
    """How steps were found, in words of the report."""

    NAMED = "the ranges that capture_step names"
    REPEATED = "the outermost range that repeats"
    PROFILERS = "torch.profiler's ProfilerStep"
    NUMBERED = "outermost ranges that differ by a number"
    CALLED = "ranges named as steps, with a number"
    UPDATES = "from one optimizer's update to the next"
    TURNS = "from one turn of ranges to the next"
    WHOLE = "all that was recorded, as one"
    NONE = "not found"


MADE = (Rule.PROFILERS, Rule.UPDATES, Rule.TURNS, Rule.WHOLE)
"""Rules whose steps are to count as ranges, with the rule as their domain."""


@dataclass(frozen=True)
class StepRanges:
    """Which of the ranges placed are steps, and by which rule."""

    rule: Rule
    is_step: Mask


def choose_steps(
    placed: Placed, every: pd.DataFrame, named: str, numbered: bool
) -> tuple[Rule, pd.DataFrame]:
    """The steps named or, without a name, those of the first rule that finds any, and the rule.

    Of MADE they are ranges of their own, or of `every`, all that torch may have pushed; else rows
    of those placed. numbered: whether what differs by numbers alone may be a step.
    """
    for rule, ranges in _candidates(placed, every, named, numbered):
        found = ranges[one_after_another(ranges)]
        if len(found):
            return rule, found
    return Rule.NONE, placed.ranges[:0]


def _candidates(
    placed: Placed, every: pd.DataFrame, named: str, numbered: bool
) -> Iterator[tuple[Rule, pd.DataFrame]]:
    ranges, profilers = placed.ranges, every[matching(every["name"], PROFILERS)]
    if named == ALL:
        yield Rule.WHOLE, whole(placed.work[placed.work["thread"] != UNKNOWN])
    if named:
        for rule, rows in ((Rule.NAMED, ranges), (Rule.PROFILERS, profilers)):
            yield rule, rows[rows["name"] == named]
            yield rule, rows[shapes(rows["name"]) == named]
        return
    main = ranges[ranges["process"].map(placed.main_threads) == ranges["thread"]]
    main = main[main["name"] != BY_MODULE]
    outermost = main[main["parent"] == NOWHERE]
    for least in (SURE, REPEATED):
        yield Rule.REPEATED, _repeated(outermost, least)
        yield Rule.PROFILERS, profilers if len(profilers) > 1 else profilers[:0]
        if numbered:
            alike = [rows.assign(name=shapes(rows["name"])) for rows in (outermost, main)]
            yield Rule.NUMBERED, _repeated(alike[0], least)
            yield Rule.CALLED, _called(alike[1], least)
        # One holds all that was recorded of a program whose own steps are among other things.
        called = ranges["name"][matching(ranges["name"], CALLED)]
        if least == REPEATED and not called.duplicated().any():
            yield Rule.PROFILERS, profilers
        yield Rule.UPDATES, between_updates(every, SURE if len(profilers) else least)
    yield Rule.TURNS, in_turn(main, placed.work, numbered)


def _repeated(outermost: pd.DataFrame, least: int) -> pd.DataFrame:
    """Outermost ranges of main threads that repeat by name, hardly overlap, and hold nearly all
    work; in processes without any such, those of the same names."""
    alike = outermost.groupby(["process", "name"])["busy_ns"]
    total, every = alike.transform("sum"), outermost.groupby("process")["busy_ns"].transform("sum")
    enough = alike.transform("size") >= least - matching(outermost["name"], CALLED)
    found = outermost[enough & (total > 0) & (total >= NEARLY_ALL * every)]
    length_ns = found["end_ns"] - found["start_ns"]
    found = found.groupby("process").filter(
        lambda own: Union.of(*spans(own)).total() >= NEARLY_ALL * length_ns[own.index].sum()
    )
    # A window that opens within a step of one process leaves work beside its steps.
    elsewhere = outermost["name"].isin(found["name"]) & (total > 0)
    return pd.concat([found, outermost[elsewhere & ~outermost["process"].isin(found["process"])]])


def _called(main: pd.DataFrame, least: int) -> pd.DataFrame:
    """Ranges of main threads that are named as steps and numbered, of the name with most work."""
    found = main[matching(main["name"], CALLED) & main["name"].str.endswith(ANY)]
    busy = found.groupby("name")["busy_ns"].agg(["sum", "size"])
    busy = busy[(busy["size"] >= least) & (busy["sum"] > 0)]
    return found[found["name"] == busy["sum"].idxmax()] if len(busy) else found[:0]
