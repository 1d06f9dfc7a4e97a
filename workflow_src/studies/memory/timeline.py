"""Active memory over a recorded step: what lives by kind, where in the step, and where it peaks."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.studies.study import Row

KINDS = ("parameters", "state", "gradients", "activations", "temporaries")
"""What memory is held for: parameters with the model's buffers and the batch, the optimizer's
state, gradients, what the forward pass left for the backward pass, and all else."""

LARGEST = 8
"""How many kinds of allocations of a record are told."""

PLACE = ["step", "part", "block"]


def stretches(record: Row) -> pd.DataFrame:
    """A row per stretch of a record in one place, of the events `first` to `last`, and its times.

    step: "step 2"; part: "backward"; block: "block 3"; component: the innermost range in there.
    """
    marks = pd.DataFrame(record["marks"], columns=["first", "begin_ns", "path"])
    path = marks["path"].str.split("/")
    named = {name: path.str[place].fillna("") for place, name in enumerate(PLACE)}
    ends = marks[["first", "begin_ns"]].shift(-1).set_axis(["last", "end_ns"], axis=1)
    found = marks.assign(**named, component=path.str[3:].str[-1].fillna("")).join(ends)[:-1]
    return found.astype({"last": int, "end_ns": int})


def allocations(record: Row, places: pd.DataFrame) -> pd.DataFrame:
    """A record's allocations with kind, line, and the place where each begins. Activations are what
    a step allocated before its backward pass began and freed after that."""
    names = ["size", "start", "end", "line", "kind"]
    found = pd.DataFrame(record["allocations"], columns=names)
    at = np.searchsorted(places["first"], found["start"], side="right") - 1
    found = found.join(places[[*PLACE, "component"]].iloc[at].reset_index(drop=True))
    begun = places[places["path"].str.endswith("/backward")].groupby("step")["first"].min()
    backward = found["step"].map(begun)
    end = found["end"].astype(float).fillna(np.inf)
    saved = (found["start"] < backward) & (end > backward)
    other = saved.map({True: "activations", False: "temporaries"})
    kind = found["kind"].where(found["kind"] != "", other)
    return found.assign(end=end, kind=kind, line=[record["lines"][n] for n in found["line"]])


def live(record: Row, places: pd.DataFrame, found: pd.DataFrame) -> NDArray[np.int64]:
    """Bytes of each of KINDS after each event: (kinds, events + 1)."""
    ended = found[found["end"] < np.inf]
    events = int(max(places["last"].max(), found["start"].max(), ended["end"].max()))
    changes = np.zeros((len(KINDS), events + 2), dtype=np.int64)
    changes[0, 0] = record["there_bytes"]
    for rows, event, sign in ((found, "start", 1), (ended, "end", -1)):
        at = rows["kind"].map(KINDS.index), rows[event].astype(int) + 1
        np.add.at(changes, at, sign * rows["size"])
    return np.cumsum(changes, axis=1)


def segments(places: pd.DataFrame, active: NDArray[np.int64]) -> list[Row]:
    """A row per stretch of each step: its time, and memory by kind at its peak (MiB).

    `component`: where in it the peak is. What lies between parts, or has no allocation, belongs to
    the stretch before.
    """
    total = active.sum(axis=0)
    events = zip(places["first"], places["last"], strict=True)
    at = [first + int(total[first : last + 1].argmax()) for first, last in events]
    held = {
        f"{kind}_mib": (each[at] / MIB).round(3) for kind, each in zip(KINDS, active, strict=True)
    }
    ms = (places[["begin_ns", "end_ns"]] - places["begin_ns"].iloc[0]) / NS_PER_MS
    rows = places.assign(active_mib=(total[at] / MIB).round(3), **held)
    rows = rows.assign(start_ms=ms["begin_ns"].round(3), end_ms=ms["end_ns"].round(3))
    is_own = (rows["part"] != "") & (rows["first"] < rows["last"])
    place = rows[PLACE].agg("/".join, axis=1)
    number = (is_own & (place != place.where(is_own).ffill().shift())).cumsum()
    rows, number = rows[number > 0], number[number > 0]
    groups = rows.groupby(number)
    highest = rows.loc[groups["active_mib"].idxmax(), ["component", "active_mib", *held]]
    ends = groups.agg({**dict.fromkeys([*PLACE, "start_ms"], "first"), "end_ms": "last"})
    found = ends.join(highest.set_axis(ends.index))
    return found.to_dict("records")  # type: ignore[return-value]


def largest_allocations(found: pd.DataFrame, step: str) -> list[Row]:
    """The largest allocations of a step, those alike together. Gradients and state are left out:
    they are as large as their parameters."""
    mine = found[(found["step"] == step) & found["kind"].isin(["activations", "temporaries"])]
    alike = ["size", "part", "component", "line", "kind"]
    counted = mine.groupby(alike, sort=False).size().reset_index(name="calls")
    ranked = counted.sort_values("size", ascending=False, kind="stable")[:LARGEST]
    ranked = ranked.assign(mib=ranked.pop("size") / MIB, rank=range(1, len(ranked) + 1))
    return ranked.to_dict("records")  # type: ignore[return-value]
