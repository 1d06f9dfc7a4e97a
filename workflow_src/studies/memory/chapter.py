"""Study memory: peaks against their prediction, where they are, and what a block saves."""

import pandas as pd

from workflow_src.common.components import COMPONENTS
from workflow_src.common.units import MIB_PER_GIB
from workflow_src.common.words import PHASES
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.number import holds, of, to
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, unmeasured
from workflow_src.studies.memory import timeline
from workflow_src.studies.memory.analyze import derive as derive

NEAR_LIMIT = 0.25
"""A step is near the limit if it is predicted to take what there is, within this share."""

KINDS = {kind: kind for kind in timeline.KINDS} | {"state": "optimizer state"}
"""What memory is held for, in words."""

RECORD = ["size", "context", "precision", "phase"]

PARTS, MOST = ("forward", "backward"), 3
"""Parts of a step that the figure names, and how many records it shows."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = worded(load(run, "memory"))
    peaks, saves, segments, allocations, streams, tensors = (
        table[table["measurement"] == name]
        for name in ("peak", "block_saves", "segment", "allocation", "stream", "saved_tensor")
    )
    peaks = beside(peaks)
    off, fits = of(peaks["off"], "max"), of(peaks["right"], "count")
    known = "both" if fits == fits else "peaks"
    lost = pd.concat([peaks, saves.assign(named=saves["heads"])])
    return {
        "verdict": known if off == off else "can't tell",
        "off": off,
        "fits": fits,
        "close": of(peaks["right"].where(peaks["near"]), "count"),
        "models": peaks.drop_duplicates("size"),
        "cases": cases(peaks),
        "peaks": peaks,
        "near": peaks[peaks["near"]],
        "stages": stages(segments),
        "streams": streams[streams["phase"] == PHASES["forward"]],
        "allocations": allocations,
        "saves": saves.assign(saved=or_state(saves["saved_mib"], saves)),
        "tensors": tensors,
        "missing": unmeasured(lost, "size", "context", "precision", "named", "phase"),
        "on_cpu": bool((table["gpu"] == "").any()),
        "figure": figure(run["studies/memory"]),
    }


def worded(table: pd.DataFrame) -> pd.DataFrame:
    """With words for what was recorded, components, and executions."""
    return table.assign(
        component=table["component"].replace(COMPONENTS),
        phase=table["phase"].replace(PHASES),
        kind=table["kind"].replace(KINDS),
        run=table["compiled"].map({True: "compiled", False: "operation by operation"}),
        named="",
    )


def beside(peaks: pd.DataFrame) -> pd.DataFrame:
    """How far `off` predicted peaks are, and whether what fits is foretold `right`."""
    predicted, peak = peaks["predicted_peak_mib"], peaks["peak_mib"].where(peaks["ok"])
    free = to(predicted / peaks["available_mib"], "share")
    known = (peaks["fits_predicted"] != "") & peaks["status"].isin(["ok", "oom"])
    right = peaks["ok"] == (peaks["fits_predicted"] == "yes")
    return peaks.assign(
        shown=or_state(to(peak, "GiB"), peaks),
        predicted=to(predicted, "GiB"),
        off=to(abs(predicted / peak - 1), "share"),
        right=holds(predicted.where(known), right, "fits as predicted"),
        free=free,
        near=(free >= 1 - NEAR_LIMIT) & (free <= 1 + NEAR_LIMIT),
        reserved=to(peaks["reserved_mib"], "GiB"),
    )


def cases(peaks: pd.DataFrame) -> pd.DataFrame:
    """Each size, context and precision of which no phase is near the limit."""
    case = peaks.groupby(RECORD[:3], sort=False, dropna=False).ngroup()
    far = peaks.assign(case=case)[~case.isin(case[peaks["near"]])]
    found = far.drop_duplicates("case").set_index("case")
    for phase in ("forward", "train_step"):
        mine = far[far["phase"] == PHASES[phase]].drop_duplicates("case").set_index("case")
        found = found.assign(**{phase: mine["shown"], f"{phase}_predicted": mine["predicted"]})
    return found


def stages(segments: pd.DataFrame) -> pd.DataFrame:
    """Where each record peaks, and the shares of what memory is held for then."""
    active = -segments["active_mib"].astype(float)
    ranked = segments.assign(active=active).sort_values("active", kind="stable")
    top = ranked.drop_duplicates(RECORD).sort_index()
    where = top[["step", "part", "block", "component"]].to_numpy()
    at = [", ".join(filter(None, each)).replace("_", " ") for each in where]
    held = {kind: to(top[f"{kind}_mib"] / top["active_mib"], "share") for kind in KINDS}
    return top.assign(
        peak=to(top["active_mib"], "GiB"), at=pd.Series(at, top.index, dtype=object), **held
    )


def figure(table: pd.DataFrame) -> Plot:
    """Active memory over time by what it is held for: of each size and phase the longest context,
    training steps, which show the most, first. A stretch is as high as its peak."""
    is_drawn = table[["start_ms", "end_ms", "active_mib"]].notna().all(axis=1)
    every = table[(table["measurement"] == "segment") & (table["status"] == "ok") & is_drawn]
    longest = every.groupby(["size", "phase"])["context"].transform("max")
    every = every[every["context"] == longest].assign(last=every["phase"] == "forward")
    records = every.sort_values("last", kind="stable").groupby(RECORD, sort=False)
    panels = [panel(mine) for _, mine in records]
    return Plot(panels[:MOST], "no allocations were recorded", size=(5.0, 3.6))


def panel(record: pd.DataFrame) -> Panel:
    """The stretches of a record, with a place where each part of a step begins."""
    ends = [record.assign(ms=record[name]) for name in ("start_ms", "end_ms")]
    both = pd.concat(ends).sort_index(kind="stable")
    held = [
        both.assign(held=words, gib=both[f"{kind}_mib"].fillna(0) / MIB_PER_GIB)
        for kind, words in KINDS.items()
    ]
    names = record["part"] + record["step"].str.removeprefix("step")
    begun = record[record["part"].isin(PARTS)].drop_duplicates(["step", "part"])
    first = record.iloc[0]
    return Panel(
        pd.concat(held),
        x="ms",
        y="gib",
        by="held",
        mark="area",
        title=f"{first['size']}, context {first['context']:.0f}, {first['precision']}",
        xlabel="ms of the host, recorded",
        ylabel="active memory, GiB",
        places=dict(zip(names[begun.index], begun["start_ms"], strict=True)),
    )
