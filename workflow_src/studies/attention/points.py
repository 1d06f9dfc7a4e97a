"""What the attention study measures: attention cores alone, and a small module around one."""

from workflow_src.common.schema import (
    AMOUNT,
    NOT_NEGATIVE,
    POSITIVE,
    YES_OR_NO,
    choice,
    listed,
    mapping,
    mapping_by,
)
from workflow_src.studies.study import Row, Settings

EAGER = ("naive", "fused_softmax", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
"""The implementations that need no compiling; sdpa_* are backends of PyTorch's own operator."""

VERSIONS = ("naive", "sdpa")
"""The module's attention: before and after PyTorch's own operator replaces it."""

MODULES = ("plain", "packed")
"""Attention as it is often first written, and with this project's choices (see plain.py)."""

CONTEXTS = {
    ("cpu", "small"): [64, 128, 256],
    ("cpu", "full"): [128, 256, 512, 1024],
    ("cuda", "small"): [128, 512, 2048],
    ("cuda", "full"): [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
}
HEAD_SIZES = {"small": [16, 64], "full": [16, 32, 64, 128]}
SHOWN_HEAD_SIZE = 64
"""The head size in the report's sentences, the figure and the profiled rows."""

PRECISIONS = {"cpu": "fp32", "cuda": "bf16"}

BUDGET_MS = 25.0
"""Time budget for the samples of a phase; long phases get the minimum number (measure.timing)."""

LOOP_CONTEXTS = {
    ("cpu", "small"): [64, 128],
    ("cpu", "full"): [256, 1024],
    ("cuda", "small"): [256, 1024],
    ("cuda", "full"): [256, 1024, 4096, 8192, 16384, 32768],
}
"""Those that the course names and, on a GPU, the next one, at which memory runs out."""

LOOP_PASSES = {"small": 5, "full": 100}

WARMUP_PASSES, PASSES = 5, 10
"""Forward-backward passes before nsys's window opens, and inside it."""


COMMON = {
    "precision": choice(PRECISIONS.values()),
    "batch": POSITIVE,
    "contexts": listed(POSITIVE),
    "budget_ms": AMOUNT,
}
CORES = mapping(
    COMMON
    | {
        "implementations": listed(choice((*EAGER, "compiled"))),
        "heads": POSITIVE,
        "head_sizes": listed(POSITIVE),
        "compile": YES_OR_NO,
        "profiled_head_size": POSITIVE,
        "profiled_contexts": {"type": "array", "items": POSITIVE},
    }
)
MODULE = mapping(
    COMMON
    | {
        "implementations": listed(choice(VERSIONS)),
        "width": POSITIVE,
        "warmup_passes": NOT_NEGATIVE,
        "passes": POSITIVE,
    }
)
PLAIN = mapping(
    {
        "implementations": listed(choice(MODULES)),
        "precision": choice(PRECISIONS.values()),
        "batches": listed(POSITIVE),
        "contexts": listed(POSITIVE),
        "width": POSITIVE,
        "budget_ms": AMOUNT,
    }
)
LOOPS = mapping(
    {
        "precision": choice(PRECISIONS.values()),
        "batch": POSITIVE,
        "heads": POSITIVE,
        "head_sizes": listed(POSITIVE),
        "contexts": listed(POSITIVE),
        "warmup_passes": NOT_NEGATIVE,
        "passes": POSITIVE,
    }
)
POINT = mapping_by(
    "point",
    {"cores": CORES, "compiled": CORES, "module": MODULE, "plain": PLAIN, "loops": LOOPS},
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point each for the eager cores, the compiled core, both modules and the course's loops."""
    return [
        {"point": "cores", "implementations": list(EAGER)} | _cores(device, scale),
        {"point": "compiled", "implementations": ["compiled"]} | _cores(device, scale),
        {"point": "module", "implementations": list(VERSIONS)} | _module(device, scale),
        {"point": "plain", "implementations": list(MODULES)} | _plain(scale),
        {"point": "loops"} | _loops(device, scale),
    ]


def _cores(device: str, scale: str) -> Row:
    contexts = CONTEXTS[device, scale]
    return {
        "precision": PRECISIONS[device],
        "batch": 8,
        "heads": 1,
        "contexts": contexts,
        "head_sizes": HEAD_SIZES[scale],
        "compile": scale == "full",
        "profiled_head_size": SHOWN_HEAD_SIZE,
        "profiled_contexts": contexts[::2],
        "budget_ms": BUDGET_MS,
    }


def _plain(scale: str) -> Row:
    full = scale == "full"
    return {
        "precision": "fp32",
        "batches": [8, 32, 128] if full else [4, 16],
        "contexts": [128, 512, 2048] if full else [64, 128],
        "width": 256 if full else 64,
        "budget_ms": BUDGET_MS,
    }


def _loops(device: str, scale: str) -> Row:
    return {
        "precision": "fp32",
        "batch": 8,
        "heads": 1,
        "head_sizes": sorted(HEAD_SIZES[scale]),
        "contexts": LOOP_CONTEXTS[device, scale],
        "warmup_passes": WARMUP_PASSES,
        "passes": LOOP_PASSES[scale],
    }


def _module(device: str, scale: str) -> Row:
    return {
        "precision": PRECISIONS[device],
        "batch": 32,
        "width": 256,
        "contexts": [100] if (device, scale) == ("cpu", "small") else [100, 1000],
        "budget_ms": BUDGET_MS,
        "warmup_passes": WARMUP_PASSES,
        "passes": PASSES,
    }
