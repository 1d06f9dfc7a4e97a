"""The long tables of the study levers."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Marked, Ranged, computed
from workflow_src.studies.levers.steps import STEP, Step, is_plain
from workflow_src.studies.lines import PROCESSES, Line, differ, in_gib, shown

KINDS = ("core", "products", "casts", "pointwise")
"""The kinds of the device's work that older predictions tell apart, besides the optimizer's."""

UNTOLD = " °"
"""Marks a saving that isn't shown."""

NOT_FINITE, YES_OR_NO = "not finite", {True: "yes", False: "no", None: None}

ROUNDED = ("rounded_gradients_error", "rounded_state")
INTERVAL = ("predicted_ms", "predicted_low", "predicted_high")


def _time(step: Step) -> Cell:
    """The median with those of the fastest and the slowest process; or why there is none."""
    ends = (step.line.value(f"{end}_process_ms", "ms") for end in ("fastest", "slowest"))
    return Ranged(step.ms, *ends) if step.ms else step.line.state


def _saves(step: Step) -> Cell:
    """The share of the plain time saved, marked if the processes' medians overlap with its."""
    if is_plain(step.line) or step.plain is None:
        return None
    if step.broken:
        return NOT_FINITE
    apart = differ(step.line, step.plain, PROCESSES)
    return step.saved if apart or not step.saved else Marked(step.saved, UNTOLD)


def step_row(step: Step) -> dict[str, Cell]:
    """A phase of a case: measured, and predicted from the plain one."""
    line = step.line
    return {
        "case": line.text("case"),
        "with": step.words,
        "phase": line.phase if line.text("phase") != STEP else None,
        "measured, ms (processes)": _time(step),
        "saves": _saves(step),
        "predicted, ms (interval)": line.ranged(*INTERVAL, "ms"),
        "as predicted": YES_OR_NO[step.predicted],
        "device time, ms": step.device_ms,
        "saves of it": None if is_plain(line) else step.device_saved,
        "predicted device time": line.value("predicted_device_ms", "ms"),
        "off in device time, ms": line.value("off_device_ms", "ms"),
        "off in the rest": line.value("off_rest_ms", "ms"),
    }


def effect_row(step: Step) -> dict[str, Cell]:
    """Memory and the errors of results against float32, and the time of compiling."""
    more = step.over_plain("peak_memory_mib", "change")
    grown = more and computed(more.number - 1, "change", more.formula, more)
    peak = step.line.value("peak_memory_mib", "MiB")
    return {
        "case": step.line.text("case"),
        "with": step.words,
        "peak memory, GiB": in_gib(peak),
        "against plain": None if is_plain(step.line) else grown,
        "largest error of logits": _error(step.line, "logits_error", "error_state"),
        "of gradients": _error(step.line, "gradients_error", "error_state"),
        "of gradients, rounded as plain": _error(step.line, *ROUNDED),
        "compiling, s": step.line.value("compile_s", "s"),
    }


def _error(line: Line, column: str, state: str) -> Cell:
    """An error; results that were compared and have none aren't finite."""
    found = line.value(column, "share")
    return found or (NOT_FINITE if line.text(state) == "ok" else None)


def expected_row(step: Step) -> dict[str, Cell]:
    """The device's predicted work by kind; of older predictions, what they rested on."""
    names = {kind: f"predicted_{kind}_ms" for kind in (*KINDS, "optimizer")}
    known = {kind: step.line.value(column, "ms") for kind, column in names.items()}
    why = step.line.text("why") or None
    if not why and not any(known.values()):
        return {}
    words = {"core": "attention's core", "products": "products elsewhere", "optimizer": "AdamW"}
    kinds = {f"{words.get(kind, kind)}, ms": ms for kind, ms in known.items()}
    return {"case": step.line.text("case"), "with": step.words, **kinds, "because": why}


def unpredicted(every: Sequence[Line]) -> pd.DataFrame:
    """The cases, or variants of them, without predictions, and why."""
    why = {(line.text("case"), Step(line, None).words): line.text("unpredicted") for line in every}
    return shown([
        {"case": case, "with": words, "not predicted": said}
        for (case, words), said in why.items()
        if said
    ])  # fmt: skip
