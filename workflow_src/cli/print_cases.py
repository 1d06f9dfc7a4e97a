"""Print the cases of a config file as JSON rows, each usable as --case of benchmark or capture."""

import json

from workflow_src.common.arguments import Parser, existing_file
from workflow_src.common.errors import one_sentence
from workflow_src.plan.config import load
from workflow_src.plan.suites import make_plan


def main() -> None:
    """Print a row per case."""
    parser = Parser(description=__doc__)
    parser.add_argument("--config", type=existing_file, default="config.yaml")
    given = parser.parse_args()
    with one_sentence("--config"):
        plan = make_plan(load(given.config))
        print("\n".join(json.dumps(row) for row in plan.rows()))


if __name__ == "__main__":
    main()
