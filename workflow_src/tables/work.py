"""The table of what a forward pass computes, by component."""

from typing import Any

import pandas as pd

from workflow_src.common.case import Brought, case_of
from workflow_src.model.flops import Work, forward_work


def work(result: dict[str, Any]) -> pd.DataFrame:
    """A row per component of a forward pass: FLOPs and bytes, by formula.

    Of a brought model, a row per operator whose FLOPs torch counts; its bytes are not known.
    """
    case = case_of(result["case"])
    if isinstance(case, Brought):
        counted = result["phases"]["forward"].get("counted", {}).get("flops", {})
        rows = [Work(name, flops, 0) for name, flops in counted.items()]
    else:
        rows = forward_work(case)
    return pd.DataFrame(rows, columns=list(Work._fields))
