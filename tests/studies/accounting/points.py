"""A small point of the study accounting, and rows as it measures them."""

from typing import Any

from tests.workflow import ROOT
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.accounting import analyze as accounting
from workflow_src.studies.join_points import prepared
from workflow_src.studies.points import points


def small_point() -> dict[str, Any]:
    (point,) = points("accounting", "cpu", "small", load(ROOT / "config.yaml"))
    numbers = {"d_model": 8, "d_ff": 12, "layers": 1, "heads": 2}
    return point | {
        "device": "cpu", "sizes": {"one": numbers}, "measured": ["one"], "vocabulary": 50,
        "context": 8, "steps": 1,
    }  # fmt: skip


def derived(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rules = load_rules()
    return accounting.derive(small_point(), [prepared(row, rules) for row in rows])
