"""A row of the plan as an argument of the stages that measure it."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from workflow_src.common.arguments import Parser, json_of
from workflow_src.common.case import (
    ATTENTIONS,
    NEEDS_CUDA,
    OPTIMIZERS,
    PRECISIONS,
    Case,
    heads_problem,
)
from workflow_src.common.errors import StageError
from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, YES_OR_NO, choice, mapping

COLUMNS = {
    "case": TEXT,
    "size": TEXT,
    "d_model": POSITIVE,
    "d_ff": POSITIVE,
    "layers": POSITIVE,
    "heads": POSITIVE,
    "vocabulary": POSITIVE,
    "batch": POSITIVE,
    "context": POSITIVE,
    "precision": choice(PRECISIONS),
    "attention": choice(ATTENTIONS),
    "optimizer": choice(OPTIMIZERS),
    "device": choice(("cpu", "cuda")),
    "seed": NOT_NEGATIVE,
    "memory_limit_gib": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1e6},
    "cpu_threads": POSITIVE | {"maximum": 4096},
    "warmup_steps": NOT_NEGATIVE,
    "steps": POSITIVE,
    "processes": POSITIVE | {"maximum": 1000},
    "process": NOT_NEGATIVE,
    "capture_steps": POSITIVE,
    "profiler": choice(("nsys", "torch")),
    "os_tracing": YES_OR_NO,
}
"""The schema of each column."""


SIZE = {name: COLUMNS[name] for name in ("d_model", "d_ff", "layers", "heads")}
"""The schema of each number that defines a size."""


def plan_row(*settings: str) -> Callable[[str], dict[str, Any]]:
    """The argument type of a plan row as JSON, with every field of a case and these settings."""
    of_case = [field.name for field in fields(Case) if field.default is MISSING]
    needed = {name: COLUMNS[name] for name in (*of_case, *settings)}
    others = {name: rule for name, rule in COLUMNS.items() if name not in needed}
    return json_of(mapping(needed, others), _require_possible)


def add_plan_row(parser: Parser, *settings: str) -> None:
    """Add --case to a parser: a plan row, with these settings."""
    row = plan_row(*settings)
    parser.add_argument("--case", type=row, required=True, help="a plan row as JSON")


def _require_possible(row: dict[str, Any]) -> dict[str, Any]:
    problem = heads_problem(row["d_model"], row["heads"])
    if problem:
        raise StageError(f"heads: {problem}")
    for field, value in NEEDS_CUDA.items():
        if row["device"] == "cpu" and row[field] == value:
            raise StageError(f"{field}: {value!r} needs a CUDA device, and the device is cpu")
    return row
