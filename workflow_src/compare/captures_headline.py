"""Two captures in a sentence."""

from enum import StrEnum

from workflow_src.compare.captures import CapturesCompared
from workflow_src.compare.captures_steps import StepsCompared
from workflow_src.compare.change import DEVICE_BEYOND, Kind
from workflow_src.compare.change import Verdict as OfTime
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Value


class Verdict(StrEnum):
    """The verdicts on two captures, each with its sentence."""

    SLOWER = (
        "B's device work takes longer than A's in each step: {ratio}. The range whose own work "
        "changes most: {path}."
    )
    FASTER = (
        "B's device work takes less time than A's in each step: {ratio}. The range whose own work "
        "changes most: {path}."
    )
    LONGER = (
        "B's steps take longer than A's, {b} ms instead of {a} ms under the profiler. Their device "
        "work shows no such difference: {ratio}. What grew most: {what}, {where}, by {by} ms a "
        "step."
    )
    SHORTER = (
        "B's steps take less time than A's, {b} ms instead of {a} ms under the profiler. Their "
        "device work shows no such difference: {ratio}. What shrank most: {what}, {where}, by {by} "
        "ms a step."
    )
    SAME = (
        "No difference shown between a step in A and in B: of device work {ratio}, where {beyond} "
        "and steps that don't overlap count, as from step to step."
    )
    CANT_TELL = (
        "Can't tell whether B is slower than A: they don't have three steps each of one range path "
        "that hold device work."
    )


ORDER = {
    (Kind.DEVICE, OfTime.SLOWER): Verdict.SLOWER,
    (Kind.STEP, OfTime.SLOWER): Verdict.LONGER,
    (Kind.DEVICE, OfTime.FASTER): Verdict.FASTER,
    (Kind.STEP, OfTime.FASTER): Verdict.SHORTER,
}
"""The first of these that a change shows is the verdict."""


def headline(found: CapturesCompared) -> Headline:
    """The verdict on two captures, with its numbers."""
    device, time = found.device, found.steps.time
    shown = {(each.kind, each.verdict) for each in found.changes}
    first = (verdict for key, verdict in ORDER.items() if key in shown)
    verdict = next(first, Verdict.SAME) if device else Verdict.CANT_TELL
    slots: dict[str, Cell] = {
        "ratio": Value(device.ratio, "near_one", ()) if device else None,
        "path": str(found.paths["path"].iloc[0]) if len(found.paths) else None,
        "beyond": Value(DEVICE_BEYOND, "share", ()),
        "a": Value(time.a_ms, "ms", ()) if time else None,
        "b": Value(time.b_ms, "ms", ()) if time else None,
        **_most(found.steps, 1 if verdict is Verdict.LONGER else -1),
    }
    return Headline(verdict, verdict.value, slots)


def _most(steps: StepsCompared, sign: int) -> dict[str, Cell]:
    """The finding that changed most in this direction, else what the host does."""
    for table, name in ((steps.findings, "name"), (steps.host, "what")):
        rows = table[table["change_ms"] * sign > 0]
        for _, row in rows[:1].iterrows():
            by = Value(abs(float(row["change_ms"])), "ms", ())
            return {"what": str(row[name]), "where": str(row["path"]), "by": by}
    return dict.fromkeys(("what", "where", "by"))
