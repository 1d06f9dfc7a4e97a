"""CSV files hold what tables hold, and nothing that a spreadsheet computes."""

from pathlib import Path

import pandas as pd

from workflow_src.common.atomic_write import write_csv


def test_only_texts_that_a_spreadsheet_would_compute_are_changed(tmp_path: Path) -> None:
    names = ['=HYPERLINK("x")', "+1-1", "-", "@a", "-1", "+.5e-3", "a=b", None, "", "\uff1dA1"]
    table = pd.DataFrame({"name": pd.Series(names, dtype=object), "ns": range(-1, 9)})
    table["kind"] = pd.Categorical(["=1+1", *["kernel"] * 9])
    write_csv(tmp_path / "a.csv", table)
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "name,ns,kind",
        '"\'=HYPERLINK(""x"")",-1,\'=1+1',
        "'+1-1,0,kernel",
        "-,1,kernel",
        "'@a,2,kernel",
        "-1,3,kernel",
        "+.5e-3,4,kernel",
        "a=b,5,kernel",
        ",6,kernel",
        ",7,kernel",
        "'\uff1dA1,8,kernel",
    ]
