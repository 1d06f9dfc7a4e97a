"""A row of the plan as an argument of the stages that measure it."""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import Any

from workflow_src.common.arguments import Parser, json_of
from workflow_src.common.case import (
    NEEDS_CUDA,
    VALUES,
    AnyCase,
    Brought,
    Case,
    heads_problem,
    is_brought,
)
from workflow_src.common.errors import StageError
from workflow_src.common.schema import (
    NOT_NEGATIVE,
    POSITIVE,
    TEXT,
    YES_OR_NO,
    Schema,
    choice,
    mapping,
)

COLUMNS = VALUES | {
    "case": TEXT,
    "size": TEXT,
    "d_model": POSITIVE,
    "d_ff": POSITIVE,
    "layers": POSITIVE,
    "heads": POSITIVE,
    "vocabulary": POSITIVE,
    "attention_code": TEXT,
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

OF_BROUGHT = COLUMNS | {
    "context": NOT_NEGATIVE,
    "batch": NOT_NEGATIVE,
    "attention": TEXT,
    "optimizer": TEXT,
    "execution": TEXT,
    "workload": TEXT,
    "axes": TEXT,
    "code": TEXT,
    "module_depth": NOT_NEGATIVE,
    "module_fold": {"type": "string", "format": "regex"},
}
"""The same for a row of a brought model."""


SIZE = {name: COLUMNS[name] for name in ("d_model", "d_ff", "layers", "heads")}
"""The schema of each number that defines a size."""


def plan_row(*settings: str) -> Callable[[str], dict[str, Any]]:
    """The argument type of a plan row as JSON, with every field of a case and these settings."""
    brought = {"required": ["workload"]}
    own = _row(Case, COLUMNS, settings)
    return json_of(
        {"if": brought, "then": _row(Brought, OF_BROUGHT, settings), "else": own}, _require_possible
    )


def _row(kind: type[AnyCase], columns: Schema, settings: Sequence[str]) -> Schema:
    of_case = [field.name for field in fields(kind) if field.default is MISSING]
    needed = {name: columns[name] for name in (*of_case, *settings)}
    return mapping(needed, {name: rule for name, rule in columns.items() if name not in needed})


def add_plan_row(parser: Parser, *settings: str) -> None:
    """Add --case to a parser: a plan row, with these settings."""
    row = plan_row(*settings)
    parser.add_argument("--case", type=row, required=True, help="a plan row as JSON")


def _require_possible(row: dict[str, Any]) -> dict[str, Any]:
    problem = "" if is_brought(row) else heads_problem(row["d_model"], row["heads"])
    if problem:
        raise StageError(f"heads: {problem}")
    for field, needing in NEEDS_CUDA.items():
        if row["device"] == "cpu" and row[field] in needing:
            raise StageError(f"{field}: {row[field]!r} needs a CUDA device, and the device is cpu")
    return row
