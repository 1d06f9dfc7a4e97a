"""What each remedy changes in a step: which of its launches, and how."""

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Mask, Plan, graphed, merged
from workflow_src.diagnosis.remedies import steps
from workflow_src.diagnosis.remedies.rates import About, flops_of, products

UPDATES = {"foreach": (80, 8, 0.5), "fused": (28, 1, 0.3)}
"""Of torch's own optimizers: bytes per parameter in float32 that a step reads and writes, kernels,
and what the host takes for each parameter's tensor, in launches.

AdamW reads weight, gradient and two moments, and writes all but the gradient. Written out, its
operators move 88 bytes (`operators.csv` of examples/h100: 299.8 GB for 3,406.8 M parameters).
"""

COMPILE, SDPA = "compile", "sdpa"

STACK = ("bf16", SDPA, "fused")
"""Remedies together, one after the other as far as they change the case; then those of launches."""

CASTS_LAUNCHED = {steps.FORWARD: 1.6, steps.BACKWARD: 0.8}
"""Casts for each product outside of attention's core, in launches of the usual price."""

NARROWER = {
    "scores": 0.65,
    "softmax": 1.05,
    "feed_forward": 0.55,
    "rotary": 1.3,
    "block": 1.4,
}
"""By range, 1 for others, the time of passes over tensors under autocast, of that in float32:
scores and the feed-forward layer's are half as wide, softmax's in float32 but for its maximum, and
where both types meet, torch has no vectorized kernel."""

BACKWARD_SHARE = 2.5
"""FLOPs of fused attention's backward pass, which computes the scores again, over forward's."""

ATTENTION_KERNELS = {steps.FORWARD: 1, steps.BACKWARD: 2}

FUSED_PRICE = 2.0
"""Of the call of fused attention, in launches."""

UPDATE_OPERATORS = 9
"""Operators of AdamW written out, for each tensor."""

COMPILED_PRICE = 0.85
"""Of a launch of compiled code, in launches."""

Remedies = Collection[str]


class NotKnownError(Exception):
    """A remedy's effect can't be told of a case; the message says why."""


def _merge(plan: Plan, calls: Indices, groups: int, ms: float, price: float) -> None:
    """Launches become so many, which together take so long and cost `price` launches each."""
    groups = max(1, min(groups, len(calls)))
    group = np.arange(len(calls)) * groups // len(calls)
    each_ns = np.full(groups, round(ms * NS_PER_MS / groups), dtype=np.int64)
    _change(plan, *merged(plan.recording, calls, group, each_ns))
    _change(plan, Edit(calls[np.searchsorted(group, np.arange(groups))], gap_factor=price))


def _change(plan: Plan, *edits: Edit) -> None:
    for edit in edits:
        edit.apply(plan)


def _narrow(precision: str, about: About, plan: Plan, _: Remedies) -> None:
    step, bf16 = about.step, precision == "bf16"
    if precision not in about.rates.product_flops_per_ms:
        raise NotKnownError(f"the run has no ceiling of products in {precision}")
    rows, ms = products(about, precision)
    factor = np.ones(len(step.work))
    factor[rows] = ms / step.work["device_ms"].to_numpy()[rows]
    if bf16:
        passes = step.of("kind", steps.ELEMENTWISE)
        factor[passes] = [NARROWER.get(leaf, 1.0) for leaf in step.texts["leaf"][passes]]
        for name, casts in CASTS_LAUNCHED.items():
            calls = step.where(step.of("kind", steps.PRODUCT) & step.of("pass", name))
            _change(plan, Edit(calls, gap_factor=1 + casts))
    _change(plan, Edit(work=np.arange(len(step.row)), factor=factor[step.row]))


def _fuse_attention(about: About, plan: Plan, remedies: Remedies) -> None:
    step = about.step
    products = step.of("kind", steps.CORE_PRODUCT) & step.of("pass", steps.FORWARD)
    if not products.any():
        raise NotKnownError("no range of it is attention written out: scores, softmax, values")
    forward_ms = _attention_ms(about, plan, products, remedies)
    layers = int(step.work.loc[products, "launches"].max())
    for name, kernels in ATTENTION_KERNELS.items():
        calls = step.where(step.of("leaf", *steps.CORE) & step.of("pass", name))
        if len(calls):
            ms = forward_ms * (BACKWARD_SHARE if name == steps.BACKWARD else 1.0)
            _merge(plan, calls, kernels * layers, ms, FUSED_PRICE)


def _attention_ms(about: About, plan: Plan, products: Mask, remedies: Remedies) -> float:
    """Forward's, by its FLOPs, at a rate between the present products' and the ceiling."""
    flops = float(flops_of(about.step.work[products]).sum())
    if not flops:
        raise NotKnownError("the sizes of attention's products are not known")
    now_ms = float(plan.duration_ns[about.step.where(products)].sum()) / NS_PER_MS
    present = flops / max(now_ms, 1e-9)
    precision = next((name for name in ("bf16", "tf32") if name in remedies), about.precision)
    most = max(about.rates.product_flops_per_ms.get(precision, present), present)
    return flops / float((present * most) ** 0.5)


def _update(optimizer: str, about: About, plan: Plan, _: Remedies) -> None:
    calls = about.step.where(about.step.of("kind", steps.UPDATE))
    if not len(calls):
        return
    if not about.parameters > 0:
        raise NotKnownError("the number of its parameters is not known")
    moved_bytes, count, price = UPDATES[optimizer]
    ms = moved_bytes * about.parameters / about.rates.copy_bytes_per_ms
    _merge(plan, calls, count, ms, 1 + price * len(calls) / UPDATE_OPERATORS / count)


def _fuse_chains(about: About, plan: Plan, remedies: Remedies) -> None:
    step = about.step
    if not step.of("kind", steps.ELEMENTWISE).any():
        raise NotKnownError("no chain of elementwise kernels is known of it")
    # One kernel of each reads first and writes last.
    calls, group, share = steps.chains(step, SDPA in remedies)
    whole_ns = np.bincount(group, plan.duration_ns[calls], len(share))
    _change(plan, *merged(plan.recording, calls, group, np.rint(share * whole_ns).astype(np.int64)))
    inside = step.where(~step.of("pass", steps.OPTIMIZER))
    _change(plan, Edit(inside, gap_factor=COMPILED_PRICE))


def _graph(_: About, plan: Plan, __: Remedies) -> None:
    # All launches become one, also those of AdamW written out: its time is that of a replay.
    _change(plan, *graphed(plan.recording.calls))


EFFECTS: dict[str, Callable[[About, Plan, Remedies], None]] = {
    "bf16": partial(_narrow, "bf16"),
    "tf32": partial(_narrow, "tf32"),
    SDPA: _fuse_attention,
    "foreach": partial(_update, "foreach"),
    "fused": partial(_update, "fused"),
    COMPILE: _fuse_chains,
    GRAPH: _graph,
}
"""What each of REMEDIES changes of a step; one whose effect can't be told raises NotKnownError."""


def combinations(precision: str, attention: str, optimizer: str) -> list[tuple[str, ...]]:
    """Of the remedies that change a case each alone and with a graph, and STACK as it grows."""
    changing = {
        "bf16": precision in ("fp32", "tf32"),
        "tf32": precision == "fp32",
        "sdpa": attention != "sdpa",
        "foreach": optimizer == "adamw",
        "fused": optimizer != "fused",
    }
    given = [name for name in EFFECTS if changing.get(name, True)]
    stack = tuple(name for name in STACK if name in given)
    growing = [stack[: number + 1] for number in range(len(stack))]
    whole = [(*stack, *last) for last in ((COMPILE,), (GRAPH,), (COMPILE, GRAPH))]
    alone = [(name,) for name in given]
    with_graph = [(name, GRAPH) for name in given if name != GRAPH]
    return list(dict.fromkeys([*alone, *with_graph, *growing, *whole]))
