"""What the fusion study measures: each implementation of two operations, next to a copy."""

from workflow_src.common.ceilings import SIZES as CEILINGS
from workflow_src.common.ceilings import SIZES_SCHEMA
from workflow_src.common.schema import (
    AMOUNT,
    NOT_NEGATIVE,
    POSITIVE,
    choice,
    listed,
    mapping,
    mapping_by,
)
from workflow_src.studies.study import Row, Settings

IMPLEMENTATIONS = {
    "gelu": ("copy", "written_out", "torch", "compiled", "triton", "cuda"),
    "softmax": ("copy", "written_out", "torch", "triton"),
}

ELEMENTS = {"small": (2**18,), "full": tuple(2**k for k in (28, 26, 24, 22, 20))}
TOTALS = {"small": (2**18,), "full": (2**27, 2**26)}
COLUMNS = {"small": (128, 4096), "full": (128, 1024, 4096, 16384, 32768, 65536)}
DTYPES = {"small": ("float32",), "full": ("float32", "bfloat16")}
STEPS = {"small": 10, "full": 20}
WARMUP = 3
WAKE_S = 0.3
"""Seconds to keep a CUDA device busy at first, so that its clocks rise from idle."""


POINT = mapping_by(
    "operation",
    {
        operation: mapping(
            {
                "implementations": listed(choice(implementations)),
                "shapes": listed(listed(POSITIVE) | {"minItems": 2, "maxItems": 2}),
                "dtypes": listed(choice(("float32", "float16", "bfloat16"))),
                "wake_s": AMOUNT,
                "warmup_steps": NOT_NEGATIVE,
                "steps": POSITIVE,
            },
            {"ceilings": SIZES_SCHEMA},
        )
        for operation, implementations in IMPLEMENTATIONS.items()
    },
)
"""The schema of a point; without `ceilings`, none are measured."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per operation; shapes are [rows, columns], the largest first."""
    gelu = [[1, elements] for elements in ELEMENTS[scale]]
    softmax = [[total // columns, columns] for columns in COLUMNS[scale] for total in TOTALS[scale]]
    shapes = {"gelu": gelu, "softmax": softmax}
    return [
        {
            "point": operation,
            "operation": operation,
            "implementations": list(implementations),
            "shapes": shapes[operation],
            "dtypes": list(DTYPES[scale]),
            "wake_s": WAKE_S,
            "warmup_steps": WARMUP,
            "steps": STEPS[scale],
            "ceilings": CEILINGS[device],
        }
        for operation, implementations in IMPLEMENTATIONS.items()
    ]


def launches_alike(row: Row) -> tuple[str, str, int]:
    """A key that rows share if they launch equally many kernels; one row per key is profiled.

    For softmax, the number of kernels can depend on the length of a row but not on the number of
    rows; for GeLU, which has no rows, on neither.
    """
    columns = row["columns"] if row["operation"] == "softmax" else 0
    return row["implementation"], row["dtype"], columns
