"""Norms over groups of channels in networks of convolutions, and the layout of images around them.

PyTorch's kernels of such norms know contiguous images alone, those of its batch norms both layouts.
In channels_last an image is copied before each norm and again before the next convolution, in
forward and in backward.
"""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.sequences import in_lanes, runs

APPLIED, GRADIENT = "GroupNormKernelImpl", "GroupNormBackwardKernelImpl"
"""Kernels that apply a norm over groups, and that give its input's gradient."""

ALL = r"GroupNorm|RowwiseMoments|ComputeInternalGradients|FusedParams|GammaBetaBackward"
"""All kernels of such norms; of others only where there are no norms over groups."""

COPY_OVER = {APPLIED: 1.0, GRADIENT: 2 / 3}
"""A copy's time over that of these kernels, by bytes: the one reads and writes an image as a copy
does, the other reads two and writes one."""

AROUND = 2
"""Copies around each norm, and as many around each gradient."""

BESIDE = ("elementwise", "cast", "copy", "fill")
"""Families of kernels between a convolution and a norm."""

MOSTLY = 0.5
"""So many of the norms, as a share, have a copy just before them where their layout is another."""


def copies_ns(subject: Subject) -> float:
    """The least time that copies around all norms over groups would take in channels_last."""
    work = subject.work
    return AROUND * sum(
        share * float(work.loc[matching(work["name"], name), "device_ns"].sum())
        for name, share in COPY_OVER.items()
    )


def layout_copies(subject: Subject) -> pd.DataFrame:
    """The rows of Subject.work that copy images between convolutions and norms over groups.

    None if most norms have no copy just before them: then their layout is that of all.
    """
    work = in_lanes(subject)
    if not matching(work["name"], APPLIED).any():
        return work.iloc[:0]
    family = work["family"]
    norm, convolution = matching(work["name"], ALL), (family == "convolution").to_numpy()
    copies = ((family == "copy") & (work["kind"] == "kernel")).to_numpy()
    begins = norm & ~np.append(False, norm[:-1])
    if (copies & np.append(begins[1:], False)).sum() < MOSTLY * begins.sum():
        return work.iloc[:0]
    members = family.isin(BESIDE).to_numpy() & ~norm
    number = runs(members, work["breaks"].to_numpy())
    # What comes before and after each run of members; a run ends where a lane does.
    ends = np.where(norm, 1, np.where(convolution, -1, 0))
    before = pd.Series(np.append(0, ends[:-1])).groupby(number).first()
    after = pd.Series(np.append(ends[1:], 0)).groupby(number).last()
    between = before.index[before * after == -1]
    return work[copies & np.isin(number, between) & members]
