"""Print the cases of a config file as JSON rows, each usable as --case of benchmark or capture."""

import argparse
import json
from pathlib import Path

from workflow_src.plan.config import load
from workflow_src.plan.suites import make_plan


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config.yaml"))
    plan = make_plan(load(parser.parse_args().config))
    print("\n".join(json.dumps(row) for row in plan.rows()))


if __name__ == "__main__":
    main()
