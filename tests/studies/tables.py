"""Small tables of studies, as their commands write them and their sections read them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tests.published import read_study
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import join

Rows = Sequence[Mapping[str, Any]]


def table(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """The table of rows, which were measured unless they say otherwise; its header is line 1."""
    about = {"point": "p", "status": "ok", "reason": None}
    made = pd.DataFrame([about | dict(row) for row in rows])
    return made.set_index(pd.RangeIndex(2, len(made) + 2))


def joined(folder: Path, study: str, rows: Rows, gpu: str = "NVIDIA H200") -> pd.DataFrame:
    result = {"point": {"point": "p"}, "rows": rows, "environment": {"gpu": gpu}}
    (folder / "p.json").write_text(json.dumps(result))
    join(study, [folder / "p.json"], load_rules()).to_csv(folder / "t.csv", index=False)
    return read_study(folder / "t.csv")


def filled(made: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, with None for empty cells."""
    rows: list[dict[str, Any]] = made.to_dict("records")  # type: ignore[assignment]
    return [{key: v if v == v else None for key, v in row.items()} for row in rows]
