"""Which collectives each way of training calls, how much they move, and how long that may take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workflow_src.common.case import Case

ELEMENT_BYTES = 4
"""Parameters and gradients are float32 in every precision of this study."""

BUCKET_BYTES, FIRST_BUCKET_BYTES = 25 * 2**20, 2**20
"""At what size DistributedDataParallel closes a bucket, and its first one, by default."""


class Call(NamedTuple):
    """A collective of `bytes` in all: of an all-gather its result, of a reduce-scatter its input.

    ready: the share of the backward pass that is over when it can begin.
    """

    collective: str
    bytes: int
    ready: float = 1.0


def bus_factor(collective: str, ranks: int) -> float:
    """The bytes that each rank's link carries per byte of a collective, at best.

    all_reduce 2 (n - 1) / n, all_gather and reduce_scatter (n - 1) / n, broadcast 1: doc/
    PERFORMANCE.md of NVIDIA's nccl-tests, which names the rate of these bytes bus bandwidth, and
    that of the collective's own bytes algorithm bandwidth.
    """
    share = (ranks - 1) / ranks
    return {"all_reduce": 2 * share, "broadcast": 1.0}.get(collective, share)


def gb_per_s(size_bytes: float, ms: float) -> float:
    """The rate of some bytes in a time, in 10^9 bytes per second."""
    return size_bytes / (ms * 1e6)


@dataclass(frozen=True)
class AllReduceTimes:
    """How long all-reduces alone took: sizes in bytes, ascending, and their times (ms)."""

    sizes_bytes: tuple[int, ...]
    times_ms: tuple[float, ...]
    ranks: int

    def ms(self, call: Call) -> float:
        """The time of a call: that of the all-reduce which moves as many bytes over a link.

        Linear between measured sizes; proportional to size above the largest, and constant below
        the smallest, where latency decides.
        """
        alike = bus_factor(call.collective, self.ranks) / bus_factor("all_reduce", self.ranks)
        size = call.bytes * alike
        largest = self.sizes_bytes[-1]
        if size > largest:
            return float(self.times_ms[-1] * size / largest)
        return float(np.interp(size, self.sizes_bytes, self.times_ms))

    def total_ms(self, calls: Iterable[Call]) -> float:
        """The time of several calls, one after another."""
        return sum(self.ms(call) for call in calls)


def block_sizes(case: Case) -> list[int]:
    """Elements of each parameter of a block, in the model's order (see model/transformer.py)."""
    width, wide = case.d_model, case.d_ff
    products = [3 * width * width, width * width]
    return [width, *products, width, wide * width, width * wide, wide * width]


def parameter_sizes(case: Case) -> list[int]:
    """Elements of each parameter of the model, in its order."""
    table = case.vocabulary * case.d_model
    return [table, *(case.layers * block_sizes(case)), case.d_model, table]


def gradient_calls(case: Case) -> list[Call]:
    """An all-reduce per parameter as gradients come, the last parameter's first.

    `ready` grows with the products' share of the backward pass; the embedding table and the norms
    have no product.
    """
    sizes = parameter_sizes(case)[::-1]
    products = [0 if size == case.d_model else size for size in sizes[:-1]]
    done = np.cumsum([*products, 0]) / sum(products)
    return [
        Call("all_reduce", ELEMENT_BYTES * size, float(share))
        for size, share in zip(sizes, done, strict=True)
    ]


def buckets(calls: Sequence[Call]) -> list[Call]:
    """Calls of single gradients put together as DistributedDataParallel does.

    A bucket takes gradients in the order in which they come until it has its size or more.
    """
    found: list[Call] = []
    filled = 0
    for call in calls:
        filled += call.bytes
        if filled >= (BUCKET_BYTES if found else FIRST_BUCKET_BYTES):
            found.append(call._replace(bytes=filled))
            filled = 0
    return found + ([calls[-1]._replace(bytes=filled)] if filled else [])


def root_bytes(case: Case) -> int:
    """Bytes of the parameters outside of the blocks: two tables and the last norm."""
    return ELEMENT_BYTES * (2 * case.vocabulary + 1) * case.d_model


def calls_of(case: Case, way: str) -> list[Call]:
    """The collectives of one step, in order. Those that FSDP2 makes: see `fsdp_calls`."""
    each = gradient_calls(case)
    together = [Call("all_reduce", sum(call.bytes for call in each))]
    sent = [Call("broadcast", call.bytes) for call in each]
    return {
        "alone": [],
        "naive": [call._replace(ready=1.0) for call in each],
        "flat": together,
        "overlapped": each,
        "bucketed": buckets(each),
        "sharded_optimizer": each + sent,
        "fsdp": fsdp_calls(case),
    }[way]


def fsdp_calls(case: Case) -> list[Call]:
    """Each block is gathered in forward and again in backward, and its gradient scattered.

    What is outside of the blocks stays gathered between both. So 1.5 times as much as in an
    all-reduce is moved: Rajbhandari et al. 2020, "ZeRO", section 7.2.
    """
    root, block = root_bytes(case), ELEMENT_BYTES * sum(block_sizes(case))
    blocks = [Call("all_gather", block)] * case.layers
    scattered = [Call("reduce_scatter", block)] * case.layers
    return [
        Call("all_gather", root),
        *blocks,
        *blocks,
        *scattered,
        Call("reduce_scatter", root),
    ]
