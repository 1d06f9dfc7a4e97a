"""Write plan.csv: every case of a run, with its settings resolved."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from workflow_src.common.arguments import Parser, json_of, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import one_sentence
from workflow_src.plan.config import ConfigError, check, one_of
from workflow_src.plan.suites import expand


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows with equal keys as CSV; None becomes an empty cell."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run, checked. Raises ConfigError, also for a device or profiler `auto`."""
    config = check(settings)
    for key, allowed in (("device", ("cpu", "cuda")), ("profiler", ("nsys", "torch"))):
        if config[key] not in allowed:
            raise ConfigError(one_of(key, config[key], allowed))
    if config["device"] == "cpu" and config["cpu_threads"] is None:
        raise ConfigError("cpu_threads: None must be a number of threads where device is cpu")
    return config


@one_sentence()
def main() -> None:
    """Write the plan of settings that are already checked and resolved."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--settings",
        type=json_of({"type": "object"}, resolved),
        required=True,
        help="settings as JSON",
    )
    parser.add_argument("--output", type=new_file, required=True, help="plan.csv")
    arguments = parser.parse_args()
    plan = expand(arguments.settings)
    write_text(arguments.output, as_csv(plan.rows()))
    print(f"{len(plan.cases)} cases on {plan.device} under {plan.profiler}")


if __name__ == "__main__":
    main()
