"""The study's points made small, and rows derived of what is measured of them."""

import json

from tests.workflow import ROOT
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.attention import analyze as attention
from workflow_src.studies.attention import points
from workflow_src.studies.join_points import table_rows

SETTINGS = load(ROOT / "config.yaml")
RULES = load_rules(ROOT / "workflow_src" / "placing" / "families.csv")
CORES, COMPILED, MODULE, PLAIN, LOOPS = (
    point | {"device": "cpu", "budget_ms": 1.0} for point in points.points("cpu", "small", SETTINGS)
)
SMALL_CORES = CORES | {"contexts": [16, 64], "head_sizes": [64], "profiled_contexts": [64]}
SMALL_PLAIN = PLAIN | {"batches": [2, 3], "contexts": [8, 16], "width": 16}
SMALL_MODULE = MODULE | {"batch": 2, "width": 16, "contexts": [10], "passes": 3}


def derived(raw: list[dict]) -> list[dict]:
    """The table's rows of a measured point."""
    result = {"point": {"point": "p"}, "rows": raw, "environment": {"gpu": ""}}
    return table_rows(json.loads(json.dumps(result)), attention.derive, RULES)
