"""Published totals account for every nanosecond."""

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "examples" / "h200"


def test_published_tables_account_for_every_nanosecond() -> None:
    tables = PUBLISHED / "tables"
    captures = pd.read_csv(tables / "captures.csv").set_index("case")
    kernels = pd.read_csv(tables / "kernels.csv", keep_default_na=False)
    assert len(captures) == 58
    assert (captures["attributed_ns"] + captures["outside_ns"] == captures["total_ns"]).all()
    by_case = kernels.groupby("case")["busy_ns"].sum()
    assert (by_case.reindex(captures.index) == captures["total_ns"]).all()
    of_kernels = kernels[kernels["kind"] == "kernel"].groupby("case")["busy_ns"].sum()
    assert (of_kernels.reindex(captures.index) == captures["stats_total_ns"]).all()
    assert (kernels["calls"] % kernels["steps"] == 0).all()
    step = kernels[kernels["phase"] == "train_step"]
    assert (step["path"] != "train_step").all(), "forward + backward + optimizer ... = step"
