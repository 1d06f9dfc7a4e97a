"""What the study ranks measures: all-reduce alone by size, and a model trained in several ways."""

from workflow_src.studies.models import models
from workflow_src.studies.study import Row, Settings

WAYS = ("alone", "naive", "flat", "overlapped", "bucketed", "sharded_optimizer", "fsdp")
"""How the ranks train; `alone` is without communication, each by itself."""

RANKS = 2

ALL_REDUCE = "all_reduce"

MB = 10**6
SIZES_BYTES = {
    "small": (MB, 10 * MB),
    "full": tuple(size * MB for size in (1, 3, 10, 30, 100, 300, 1000)),
}
SAMPLES = {"small": 5, "full": 10}

TRAINED = {
    "small": (("tiny", "fp32"),),
    "full": (("2.7B", "fp32"), ("2.7B", "bf16"), ("xl-2026", "fp32"), ("xl-2026", "bf16")),
}
"""Sizes and precisions, those that matter most first; xl-2026 is another name of 2.7B."""

CHECKED = {"d_model": 128, "d_ff": 512, "layers": 2, "heads": 4}
"""The size of the model whose step is compared with that of one process on the whole batch."""

CONTEXT = {"small": 64, "full": 512}
BATCH = 2
"""Sequences per rank: with four, gradients in buckets beside 2.7B's states exceed 80 GB."""

STEPS = {"small": (1, 3), "full": (2, 5)}
"""Warm-up steps and measured steps."""

PROFILED_STEPS = 2

LIMIT_S = {"small": 120, "full": 240}
"""After so long the ranks of a point are ended: one of them hangs."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point of all-reduce, then one per size and precision that is configured."""
    common = {"ranks": RANKS, "gpus": RANKS if device == "cuda" else 1, "limit_s": LIMIT_S[scale]}
    alone = {"sizes_bytes": list(SIZES_BYTES[scale]), "samples": SAMPLES[scale]}
    warmup_steps, steps = STEPS[scale]
    training = {
        "measurement": "training",
        "context": CONTEXT[scale],
        "batch": BATCH,
        "ways": list(WAYS),
        "warmup_steps": warmup_steps,
        "steps": steps,
        "profiled_steps": PROFILED_STEPS,
    }
    trained = [pair for pair in TRAINED[scale] if pair[0] in settings["sizes"]]
    # 2.7B and xl-2026 are one size; where both are configured, it is measured once.
    first = trained[0][0] if trained else ""
    return [
        {"point": ALL_REDUCE, "measurement": ALL_REDUCE} | common | alone,
        *(
            {"point": f"{size}-{precision}", "size": size, "precision": precision}
            | common
            | training
            | models(settings, [size])
            for size, precision in trained
            if size == first
        ),
    ]
