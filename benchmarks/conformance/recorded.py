"""The recorded captures of tests/data/captures, and the times in them that are known.

Known are sums by name of the range, inclusive, from plain loops over the exports that share no code
with this project: a launch is the earliest call with the number, in the process; its ranges are
those open on its thread or, if that has none, on the process's thread with most ranges.
"""

from pathlib import Path

from benchmarks.conformance.truth import INCLUSIVE, OWN, Truth

DATA = Path(__file__).parents[2] / "tests" / "data" / "captures"
LIBRARIES = ("CCCL", "NCCL")


def known(
    total: int, nowhere: int, sums: dict[str, int], roots: tuple[str, ...], *domains: str,
    leaves: dict[str, int] | None = None,
) -> Truth:  # fmt: skip
    """The truth of a recorded capture, of which not all ranges are known."""
    quantities = {INCLUSIVE: sums} | ({OWN: leaves} if leaves else {})
    return Truth(total, nowhere, quantities, frozenset(roots), domains, LIBRARIES, complete=False)


STEP = ("step",)
LLAMA = "train step é/1"
REPLAY_TORCH = {"replay": 16_178_714, "eager tail": 318_557}
STREAMS_TORCH = {"forward": 556_301, "backward": 1_505_888, "log": 5_216}

RECORDED = {
    "gpt2_modules.sqlite.gz": known(
        55_735_302,
        0,
        {
            "step": 55_735_302,
            "backward": 31_172_030,
            "forward": 20_584_798,
            "optimizer": 3_978_474,
            "transformer": 12_698_121,
            "lm_head": 5_270_370,
        },
        STEP,
    ),
    "llama.sqlite.gz": known(
        61_646_199,
        0,
        {LLAMA: 61_646_199, "bwd": 39_060_342, "fwd": 14_860_110, "opt": 7_718_419},
        (LLAMA,),
        "trainer",
    ),
    "graph.sqlite.gz": known(
        24_865_066,
        0,
        {"step": 24_865_066, "replay": 24_386_114, "eager tail": 478_952},
        STEP,
    ),
    "graph.json.gz": known(
        16_497_271, 0, {"step": 16_497_271, **REPLAY_TORCH}, STEP, leaves=REPLAY_TORCH
    ),
    "ddp.sqlite.gz": known(
        100_145_349,
        0,
        {
            "step": 100_145_349,
            "backward": 79_375_606,
            "forward": 15_437_165,
            "optimizer": 5_332_578,
        },
        STEP,
    ),
    "streams.sqlite.gz": known(
        4_172_615,
        205_444,
        {
            "step": 3_520_730,
            "backward": 2_256_902,
            "forward": 825_773,
            "load": 446_441,
            "sgd": 429_607,
            "log": 8_448,
        },
        ("step", "load"),
    ),
    "streams.json.gz": known(
        2_589_399, 0, {"step": 2_589_399, **STREAMS_TORCH}, STEP, leaves=STREAMS_TORCH
    ),
    "vit.sqlite.gz": known(24_970_772, 24_970_772, {}, ()),
}
