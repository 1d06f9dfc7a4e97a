"""A phase's device work, from the record of its operators, and as one step to replay."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Factors, Mask, Recording

PASSES = FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"

PRODUCT, CORE_PRODUCT, ELEMENTWISE = "product", "core product", "elementwise"
UPDATE, OTHER = "update", "other"
"""Kinds of work: products outside and inside of attention's core, passes over tensors, the
optimizer's, and what no remedy touches, as casts."""

CORE = ("scores", "softmax", "values")

WORK = ("pass", "path", "leaf", "kind", "launches", "device_ms", "instances", "bytes", "flops")
"""Columns of a phase's work, a row per operator, place and kernel: `leaf` is the innermost range,
`instances` how often its range runs in a step; bytes, flops: 0 where they aren't known."""

SINGLE = ("gemm", "attention", "embedding", "optimizer", "loss", "communication")
"""Families whose kernels can't be fused with their neighbors."""


def work_of(operators: pd.DataFrame) -> pd.DataFrame:
    """The work of phases of cases, from operators.csv: a table with `case`, `phase` and WORK."""
    path = operators["path"].str.split("/").str[1:]
    # Backward's work stands at the path of its forward operator, or of the range of that name.
    first = path.str[0].fillna("")
    backward = (operators["forward_operator"].fillna("") != "") | (first == BACKWARD)
    name = np.select([first == OPTIMIZER, backward], [OPTIMIZER, BACKWARD], FORWARD)
    work = pd.DataFrame({
        "case": operators["case"],
        "phase": operators["phase"],
        "pass": name.astype(object),
        "path": path.str.join("/"),
        "leaf": path.str[-1].fillna(""),
        "launches": operators["calls_per_step"].round().clip(lower=1).astype("int64"),
        "device_ms": operators["busy_ms_per_step"].astype("float64"),
        "bytes": operators["bytes_per_step"].fillna(0.0),
        "flops": operators["flops_per_step"].fillna(0.0),
    })  # fmt: skip
    work["kind"] = _kinds(work, operators)
    # A range runs in a step as often as most of its operators do.
    ranges = work.groupby(["case", "phase", "pass", "path"])["launches"]
    work["instances"] = ranges.transform(lambda launches: launches.mode().iloc[-1])
    return work[["case", "phase", *WORK]].reset_index(drop=True)


def _kinds(work: pd.DataFrame, operators: pd.DataFrame) -> "npt.NDArray[np.object_]":
    # Copies from one type to another, of a matrix: a weight's or its gradient's.
    types = operators["dtypes"].fillna("").str.extract(r"^(\w+); (\w+)$")
    casts = types[0].notna() & types[0].ne(types[1]) & (operators["family"] == "copy")
    casts &= operators["shapes"].fillna("").str.match(r"^\d+ x \d+; \d+ x \d+$")
    family = operators["family"]
    core, multiplies = work["leaf"].isin(CORE), family == "gemm"
    updates, passes = work["pass"] == OPTIMIZER, ~family.isin(SINGLE)
    conditions = [updates, multiplies & core, multiplies, casts & ~core, passes]
    kinds = [UPDATE, CORE_PRODUCT, PRODUCT, OTHER, ELEMENTWISE]
    return np.select(conditions, kinds, OTHER).astype(object)


UNIT_NS = 1_000_000
"""The host's time before each launch of a recording, which replays scale."""


@dataclass(frozen=True, eq=False)
class Launched:
    """A phase's step as it would be launched: `work` with WORK; `row`: that of work, by launch."""

    work: pd.DataFrame
    recording: Recording
    row: Indices

    def where(self, rows: Mask) -> Indices:
        """The launches of some rows of work."""
        return np.flatnonzero(rows[self.row])

    def by_launch(self, by_pass: Mapping[str, float]) -> Factors:
        """A value of each launch by its pass; 0 of other passes."""
        values = self.work["pass"].map(dict(by_pass)).fillna(0.0)
        return np.asarray(values, np.float64)[self.row]

    def of(self, column: str, *values: str) -> Mask:
        """Which rows of work have one of these values in a column of text."""
        return self.work[column].isin(values).to_numpy()


def launched(work: pd.DataFrame) -> Launched:
    """The step of a phase with so much work.

    Within a pass, the launches of each row are spread evenly, as those of a model's layers are;
    backward's rows are in reverse.
    """
    count = work["launches"].to_numpy()
    row = np.repeat(np.arange(len(work)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    part = work["pass"].map({name: place for place, name in enumerate(PASSES)}).to_numpy()[row]
    turned = np.where((work["pass"] == BACKWARD).to_numpy()[row], -row, row)
    row = row[np.lexsort((turned, (nth + 0.5) / count[row], part))]
    each_ns = np.rint(work["device_ms"].to_numpy() * NS_PER_MS / count).astype(np.int64)
    # A call for each activity, with what replays read of both.
    calls = pd.DataFrame({"cost_ns": 0, "step": 0, "beside": False}, np.arange(len(row)))
    calls[["start_ns", "end_ns", "gap_ns"]] = UNIT_NS
    activities = pd.DataFrame({"call": calls.index, "end_ns": each_ns[row]})
    activities[["lane", "start_ns", "latency_ns", "gap_ns"]] = 0
    waits = pd.DataFrame(columns=["call", "work", "return_ns"], dtype="int64")
    ties = pd.DataFrame(columns=["work", "after", "gap_ns"], dtype="int64")
    step = {"start_ns": 0, "end_ns": UNIT_NS, "call": 0, "last_call": len(row) - 1}
    steps = pd.DataFrame(step, index=[0])
    return Launched(work, Recording(0, calls, activities, waits, ties, steps), row)
