"""Write plan.csv: every case of a run, with its settings resolved."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from workflow_src.common.arguments import Parser, json_of, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import AXES, names_code
from workflow_src.common.errors import one_sentence
from workflow_src.common.plan_row import COLUMNS, OF_BROUGHT, SIZE
from workflow_src.common.schema import TEXT, listed, mapping
from workflow_src.plan.config import ConfigError, one_of
from workflow_src.plan.suites import expand


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV, with the keys of any of them; None, and what a row lacks, is an empty cell."""
    text, keys = StringIO(), dict.fromkeys(key for row in rows for key in row)
    writer = csv.DictWriter(text, list(keys), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


SIZES = {"sizes": listed(TEXT)}
VALUES = {axis.plural: listed(axis.value) for axis in AXES}
PROCESSES = {"processes": COLUMNS["processes"] | {"type": ["integer", "null"]}}
OWN_SUITE = mapping(SIZES | VALUES | PROCESSES)
SUITE = {"if": {"required": ["axes"]}, "then": mapping(PROCESSES), "else": OWN_SUITE}
FROM_ROWS = (
    *("device", "profiler", "vocabulary", "seed", "memory_limit_gib"),
    *("warmup_steps", "steps", "processes", "capture_steps", "os_tracing"),
)
SETTINGS = mapping(
    {name: COLUMNS[name] for name in FROM_ROWS}
    | {
        "suite": TEXT,
        "tag": TEXT,
        "cpu_threads": COLUMNS["cpu_threads"] | {"type": ["integer", "null"]},
        "sizes": {"type": "object", "additionalProperties": mapping(SIZE)},
        "suites": {"type": "object", "additionalProperties": SUITE},
        "workload": TEXT | {"type": ["string", "null"]},
        "axes": {"type": ["object", "null"], "additionalProperties": {"type": "array"}},
        "code": TEXT | {"type": ["string", "null"]},
        "module_depth": OF_BROUGHT["module_depth"],
        "module_fold": OF_BROUGHT["module_fold"],
    },
    {"attention_codes": {"type": "object", "additionalProperties": TEXT}},
)
"""What the plan is made of. Not config.schema.yaml, where a description makes no plan stale."""


def consistent(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """`settings`. Raises ConfigError if one names what another doesn't define."""
    name, suites, sizes = settings["suite"], settings["suites"], settings["sizes"]
    if name not in suites:
        raise ConfigError(one_of("suite", name, suites))
    for size in suites[name].get("sizes", ()):
        if size not in sizes:
            raise ConfigError(one_of(f"suites.{name}.sizes", size, sizes))
    codes = settings.get("attention_codes", {})
    for attention in suites[name].get("attentions", ()):
        if names_code(attention) and not settings["workload"] and attention not in codes:
            raise ConfigError(one_of("attention_codes", attention, codes))
    for key in ("axes", "code"):
        if (settings[key] is None) != (settings["workload"] is None):
            raise ConfigError(
                f"{key}: {settings[key]!r} must be there with a workload, and only so"
            )
    if settings["device"] == "cpu" and settings["cpu_threads"] is None:
        raise ConfigError("cpu_threads: None must be a number of threads where device is cpu")
    return settings


@one_sentence()
def main() -> None:
    """Write the plan of settings that are already checked and resolved."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--settings",
        type=json_of(SETTINGS, consistent),
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
