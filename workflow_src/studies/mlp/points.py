"""What the MLP study measures: one point, as starting a process takes longer than measuring."""

from collections.abc import Mapping

from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, listed, mapping
from workflow_src.studies.study import Row, Settings

Sizes = Mapping[str, int]

BASE = {"steps": 2, "layers": 4, "batch": 256, "dim": 256}
FACTORS = (2, 3, 4, 5)
SMALL_MATMUL = 128

DIMS = {"cpu": (64, 128, 256, 512, 1024), "cuda": (128, 256, 512, 1024, 2048, 4096, 8192)}
WIDTHS = {"small": 512, "full": 2048}
REPEATS = {"cpu": 7, "cuda": 30}
WARMUP = 3


POINT = mapping(
    {
        "base": mapping(dict.fromkeys(BASE, POSITIVE)),
        "factors": listed(POSITIVE),
        "dims": listed(POSITIVE),
        "width": POSITIVE,
        "small_width": POSITIVE,
        "repeats": POSITIVE,
        "warmup_steps": NOT_NEGATIVE,
    }
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """The only point: the base, its scale factors, the sweep's dims, the operations' widths."""
    return [
        {
            "point": "mlp",
            "base": dict(BASE),
            "factors": list(FACTORS),
            "dims": list(DIMS[device]),
            "width": WIDTHS[scale],
            "small_width": SMALL_MATMUL,
            "repeats": REPEATS[device],
            "warmup_steps": WARMUP,
        }
    ]


def scaled(base: Sizes, factors: list[int]) -> list[tuple[str, int, Sizes]]:
    """(scaled axis, factor, sizes): first the base, then each size scaled by each factor."""
    grown = [
        (axis, factor, {**base, axis: base[axis] * factor}) for axis in base for factor in factors
    ]
    return [("base", 1, base), *grown]
