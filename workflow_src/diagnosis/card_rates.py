"""What a capture's card can do: the precisions that it multiplies in, and how much faster."""

from collections.abc import Mapping

import pandas as pd

from workflow_src.captures.recording import Card
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.kernel_words import built_for

Times = Mapping[str, float]
"""How long a large product takes by precision, in that of 16 bits; without what a card lacks."""

HOPPER = (9, 0)
HOPPER_TIMES: Times = {
    "bf16": 1.0,
    "fp16": 1.0,
    "fp8": 0.5,
    "tf32": 2.0,
    "fp32": 15.0,
    "fp64": 13.0,
}
"""fp32: the median of 768 products of an H100 (examples/h100, products.csv). Three products each on
an H200 (product_kinds.py: benchmarks/README.md) took tf32 1.9 to 2.0, fp32 14.3 to 15.6 and fp64
12.3 to 13.0; fp8 is by the datasheet."""

BOTH = ("fp16", "bf16")
GAINS: Mapping[tuple[int, int], Times] = {
    (7, 0): {"fp16": 8},
    (7, 5): {"fp16": 4},
    (8, 0): {"tf32": 8} | dict.fromkeys(BOTH, 16),
    (8, 6): {"tf32": 1} | dict.fromkeys(BOTH, 2),
    (8, 9): {"tf32": 1, "fp8": 4} | dict.fromkeys(BOTH, 2),
    (10, 0): {"tf32": 13, "fp8": 56} | dict.fromkeys(BOTH, 28),
    (10, 3): {"tf32": 13, "fp8": 56} | dict.fromkeys(BOTH, 28),
    (12, 0): {"tf32": 1, "fp8": 4} | dict.fromkeys(BOTH, 2),
}
"""How many times as fast as fp32 a product is at least, by compute capability: the least of the
dense rates of NVIDIA's datasheets (V100; T4, RTX 2080 Ti; A100; A10, RTX 3090; L4, RTX 4090; B200,
B300; RTX 5090), as cards of one capability differ."""

AMD_GAINS: Mapping[str, Times] = {
    "MI100": {"fp16": 4, "bf16": 2},
    "MI2": dict.fromkeys(BOTH, 4),
    "MI30": {"tf32": 4, "fp8": 16} | dict.fromkeys(BOTH, 8),
    "MI32": {"tf32": 4, "fp8": 16} | dict.fromkeys(BOTH, 8),
    "MI35": {"fp8": 32} | dict.fromkeys(BOTH, 16),
}
"""The same of AMD Instinct by a part of the name, from AMD's data sheets; MI350 has no TF32."""

LEAST: Times = {"tf32": 1} | dict.fromkeys(BOTH, 2)
"""The same of any card with tensor cores, and with none of them."""

NONE: Times = {"fp16": 1}


def card_of(subject: Subject) -> Card | None:
    """The card of a capture; by kernels that run on one capability alone if the file has none."""
    card = subject.attributed.capture.recording.card
    if card is not None and (card.capability or card.amd):
        return card
    names = subject.work.loc[subject.work["family"].isin(["gemm", "convolution"]), "name"]
    return _named_after(names) or card


def _named_after(names: pd.Series) -> Card | None:
    """The card of the newest kernel that is built for one: since Hopper they run on no other."""
    newest = max((built_for(str(name)) or 0 for name in names.unique()), default=0)
    return Card("", divmod(newest, 10)) if newest >= 10 * HOPPER[0] else None


def times_on(card: Card | None) -> Times:
    """The times of products on a card, of which no more is claimed than can be told."""
    if card is not None and card.capability == HOPPER and not card.amd:
        return HOPPER_TIMES
    gains = _gains(card)
    narrow = gains["fp16"]
    times = {precision: narrow / gain for precision, gain in gains.items()}
    return times | {"fp32": narrow, "fp64": narrow}


def _gains(card: Card | None) -> Times:
    if card is None:
        return LEAST
    if card.amd:
        return next((each for name, each in AMD_GAINS.items() if name in card.name), LEAST)
    if card.capability is None:
        return LEAST
    return GAINS.get(card.capability, LEAST if card.capability > min(GAINS) else NONE)
