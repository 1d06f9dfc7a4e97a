"""Measure one point of a study on a device that nobody else measures on."""

import argparse
import json
from pathlib import Path
from typing import Any

from workflow_src.common.atomic_write import write_json
from workflow_src.common.devices import hold
from workflow_src.common.errors import one_sentence
from workflow_src.studies.study import load_study


def measure(study: str, point: dict[str, Any]) -> dict[str, Any]:
    """The rows of one point with the environment that they were measured in."""
    from workflow_src.common.environment import hardware, node, now, software, state

    with hold(point["device"]) as device:
        started_at, before = now(), state(device)
        rows = load_study(study).measure(point)
        return {
            "study": study,
            "point": point,
            "rows": rows,
            "environment": hardware(device) | software() | {"node": node(), "device_name": device},
            "before": before,
            "after": state(device),
            "started_at": started_at,
            "ended_at": now(),
        }


@one_sentence()
def main() -> None:
    """Measure one point."""
    parser = argparse.ArgumentParser(prog="workflow_src.studies.run_point", description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--point", type=json.loads, required=True, help="the point as JSON")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    write_json(arguments.output, measure(arguments.study, arguments.point))


if __name__ == "__main__":
    main()
