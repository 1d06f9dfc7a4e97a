"""Points of the levers study, measured on a CPU."""

import json
from functools import cache
from typing import Any

from workflow_src.studies.levers.measure import tasks
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

SIZES = {"tiny": {"d_model": 16, "d_ff": 32, "layers": 2, "heads": 2}}

SETTINGS = {"sizes": SIZES, "vocabulary": 50, "levers_cases": ["tiny-ctx8-fp32"]}

ENVIRONMENT = {"gpu": "", "cpu": "c", "cpu_threads": "1", "driver": "", "cuda": "", "torch": "2"}


def point(name: str, **other: Any) -> dict[str, Any]:
    made = {row["variant"]["name"]: row for row in points("levers", "cpu", "small", SETTINGS)}
    return made[name] | {"device": "cpu", "steps": 2} | other


@cache
def measured(name: str) -> str:
    made = point(name)
    return json.dumps({"point": made, "rows": rows(tasks, made), "environment": ENVIRONMENT})


def result(name: str) -> dict[str, Any]:
    return json.loads(measured(name))
