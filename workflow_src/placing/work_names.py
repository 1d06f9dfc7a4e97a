"""Each kind and name of device work once, with its family and short name."""

import numpy as np
import pandas as pd

from workflow_src.captures.capture import GRAPH, KERNEL
from workflow_src.common.intervals import Indices
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import distinct_names
from workflow_src.placing.kernel_words import changes_type

CAST = "cast"
"""The family of kernels that copy to another type, as far as their names tell."""


def work_names(work: pd.DataFrame, rules: pd.DataFrame | None) -> tuple[Indices, pd.DataFrame]:
    """The kind and name of each activity by number, and a row for each: family, short_name.

    Families are those of `rules`, and GRAPH and CAST.
    """
    groups = work.groupby(["kind", "name"], sort=False)
    names = groups.size().index.to_frame(index=False)
    kind, name = names["kind"], names["name"].astype(str)
    family = families(name, rules).where(kind != GRAPH, GRAPH)
    casts = (kind == KERNEL) & (family == "copy") & name.map(changes_type).astype(bool)
    found = names.assign(
        family=family.mask(casts, CAST).astype(object), short_name=distinct_names(name)
    )
    return np.asarray(groups.ngroup(), dtype=np.int64), found
