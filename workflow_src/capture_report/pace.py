"""What sets the pace of a capture's steps: which side is idle, how long, and where most of it."""

from collections.abc import Mapping
from enum import StrEnum

import pandas as pd

from workflow_src.capture_report.shown import MS, text_of
from workflow_src.common.thresholds import IDLES, LAUNCH_BOUND_BELOW_NS, UNNAMED
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Pace
from workflow_src.diagnosis.idle_causes import Before
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, ratio, rows_of, value
from workflow_src.placing.ranks import COLLECTIVE

MICRO_BATCHES = 4
"""So many micro batches a step are said, where launches set its pace."""

GAP_AT_LEAST = 0.1
"""A gap of the host that takes this share of a step is named; else launches come one by one."""

IDLE = "the device is idle {idle} of {step} ms a step ({share})"
PLACE = "{gap} ms, {often} a step,"


class Paced(StrEnum):
    """The pace of a step of which a side idles, and the place of the largest gaps."""

    MICRO_BATCHES = (
        f"{{micro}} micro batches a step, and launches set the pace: {IDLE}. Larger micro batches "
        "launch less."
    )
    LAUNCHES = (
        f"{{who}}: {IDLE}, as launching short kernels takes longer than running them; {{gap}} ms "
        "of it lie between launches in {next}. A CUDA graph, torch.compile or larger batches "
        "launch less."
    )
    BETWEEN_LAUNCHES = (
        f"{{who}}: {IDLE}; {{gap}} ms of it lie between launches in {{next}}, {{often}} a step. "
        "What the host does there the capture doesn't tell: record its stacks (`with_stack=True`, "
        "py-spy)."
    )
    GAP = (
        f"{{who}}: {IDLE}. The largest gap, {PLACE} comes after {{call}} in {{path}} and before "
        "work in {next}: the host launches nothing."
    )
    NEXT_STEP = (
        f"{{who}}: {IDLE}. The largest gap, {PLACE} comes between two steps, after {{call}} in "
        "{path} and before work in {next}: the host launches nothing."
    )
    WAIT = (
        f"{{who}}: {IDLE}. The largest gap, {PLACE} comes after the host waited in {{call}} in "
        "{path} and before work in {next}."
    )
    QUEUED = (
        f"{{who}}: {IDLE}; {{gap}} ms of it, {{often}} a step, come before work in {{next}} that "
        "had been launched: pauses between kernels, or waits for another stream."
    )
    NO_GAP = f"{{who}}: {IDLE}."
    DEVICE = (
        "{who}: the device works {device} of {step} ms a step, {gap} ms of it on {family} in "
        "{path}."
    )


WHO = {
    Pace.HOST: "The host sets the pace",
    Pace.DEVICE: "The device sets the pace",
    Pace.BOTH: "Host and device set the pace alike",
    Pace.IN_TURN: "Host and device wait for each other",
}
NAMED = {Before.GAP: Paced.GAP, Before.NEXT_STEP: Paced.NEXT_STEP, Before.WAIT: Paced.WAIT}
"""Gaps that one call stands before."""


def paced(tables: Mapping[str, pd.DataFrame], row: pd.DataFrame, several: bool) -> Headline | None:
    """What sets the pace of a process, by its row of `diagnoses`; None if neither side idles."""
    of = row.iloc[0]
    step_ms = of["recorded_ms"] if pd.isna(of["step_ms"]) else of["step_ms"]
    idles = of["device_idle_ms"] > IDLES * step_ms or of["unnamed_ms"] > UNNAMED * step_ms
    if not idles and of["host_idle_ms"] <= IDLES * step_ms:
        return None
    work, causes = (
        table[table["process"] == of["process"]]
        for table in (tables["step_work"], tables["idle_causes"])
    )
    verdict, slots = _idle(of, causes) if idles else (Paced.DEVICE, _most_work(work))
    who = WHO.get(of["pace"], "As recorded")
    sources = (rows_of("diagnoses", row),)
    step = Value(step_ms, MS, sources, "step_ms, else recorded_ms")
    idle, device = (Value(of[name], MS, sources, name) for name in ("device_idle_ms", "device_ms"))
    return Headline(
        verdict,
        verdict.value,
        slots
        | {
            "who": f"In process {of['process']} {who[0].lower()}{who[1:]}" if several else who,
            "step": step,
            "idle": idle,
            "share": ratio(idle, step, "share", "device_idle_ms / step_ms"),
            "device": device,
            "micro": value(of["micro_batches"], "count", *sources),
        },
    )


def _idle(of: pd.Series, causes: pd.DataFrame) -> tuple[Paced, dict[str, Cell]]:
    """Where a device idles longest: at one call, if that is much of a step, else launch by launch.

    Launches are the cause where kernels are short and launches most of what the host adds.
    """
    if causes.empty:
        return Paced.NO_GAP, {}
    at_a_call = causes["before"].isin(NAMED)
    large = at_a_call & (causes["idle_ms"] >= GAP_AT_LEAST * of["recorded_ms"])
    place = next(each for each in (causes[large], causes[~at_a_call], causes) if len(each))[:1]
    # As recorded, as a share of the idle time of the step that is told.
    slots = _place(place, of["device_idle_ms"] / max(causes["idle_ms"].sum(), 1 / NS_PER_MS))
    before = place["before"].iloc[0]
    if before != Before.LAUNCHES:
        return NAMED.get(before, Paced.QUEUED), slots
    short = of["device_ms"] * NS_PER_MS < LAUNCH_BOUND_BELOW_NS * of["launches"]
    if not short or of["pace"] != Pace.HOST or of["launching_ms"] < of["unnamed_ms"]:
        return Paced.BETWEEN_LAUNCHES, slots
    many = of["micro_batches"] >= MICRO_BATCHES
    return Paced.MICRO_BATCHES if many else Paced.LAUNCHES, slots


def _place(row: pd.DataFrame, scale: float) -> dict[str, Cell]:
    source, of = rows_of("idle_causes", row), row.iloc[0]
    unit = "count" if of["times"] == round(of["times"]) else MS
    times = Value(of["times"], unit, (source,), "times")
    return {
        "gap": Value(scale * of["idle_ms"], MS, (source,), "idle_ms"),
        "often": "once" if round(of["times"], 1) == 1 else Joined((times, "times"), " "),
        "call": text_of(of["call"]) or "the first call",
        "path": text_of(of["path"]) or "no range",
        "next": text_of(of["next_path"]) or "no range",
    }


def _most_work(work: pd.DataFrame) -> dict[str, Cell]:
    """The family and part of a step that take most of the device's time."""
    row = work.sort_values("device_ms", ascending=False)[:1]
    source, of = rows_of("step_work", row), row.iloc[0]
    waiting = ", waiting for other processes included," if of["family"] == COLLECTIVE else ""
    return {
        "gap": Value(of["device_ms"], MS, (source,), "device_ms"),
        "family": f"{of['family']}{waiting}",
        "path": text_of(of["path"]) or "no range",
    }
