"""What each remedy changes in a step: which of its launches, and how."""

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Plan, graphed
from workflow_src.diagnosis.remedies import steps
from workflow_src.diagnosis.remedies.rates import About

UPDATES = {"foreach": (80, 8), "fused": (28, 1)}
"""Of torch's own optimizers: bytes per parameter in float32 that a step reads and writes, and
kernels.

AdamW reads weight, gradient and two moments, and writes all but the gradient. Written out, its
operators move 88 bytes (`operators.csv` of examples/h100: 299.8 GB for 3,406.8 M parameters).
"""

COMPILE, SDPA = "compile", "sdpa"

STACK = ("bf16", SDPA, "fused")
"""Remedies together, one after the other as far as they change the case; then those of launches."""

USUAL_SHARE = 0.55
"""Of the ceiling, what a product reaches in another type: 30 to 100 %."""

CASTS_LAUNCHED = {steps.FORWARD: 1.6, steps.BACKWARD: 0.8}
"""Casts for each product outside of attention's core, in launches of the usual price."""

FUSED_ATTENTION = {steps.FORWARD: (2, 0.5), steps.BACKWARD: (4, 1.25)}
"""What it takes of each layer's host, in launches, and of the device, in the time of forward's
products; backward has 2.5 times the FLOPs, as it computes the scores again."""

COMPILED_PRICE = 0.85
"""Of a launch of compiled code, in launches."""

Remedies = Collection[str]


class NotKnownError(Exception):
    """A remedy's effect can't be told of a case; the message says why."""


def _become(plan: Plan, calls: Indices, launches: float, ms: float) -> None:
    """Launches take the host as long as so many, and their work takes so long together."""
    each_ns = np.full(len(calls), round(ms * NS_PER_MS / len(calls)), dtype=np.int64)
    Edit(calls, calls, gap_factor=launches / len(calls), ns=each_ns).apply(plan)


def _narrow(precision: str, about: About, plan: Plan, _: Remedies) -> None:
    step, bf16 = about.step, precision == "bf16"
    if precision not in about.rates.product_flops_per_ms:
        raise NotKnownError(f"the run has no ceiling of products in {precision}")
    rates, work = about.rates.product_flops_per_ms, step.work
    slower = rates.get(about.precision, rates[precision]) / rates[precision]
    ms = work["flops"] / (USUAL_SHARE * rates[precision])
    factor = (ms / work["device_ms"]).where(work["flops"] > 0, slower).to_numpy()
    products = step.of("kind", steps.PRODUCT)
    factor = np.where(products | step.of("kind", steps.CORE_PRODUCT), factor, 1.0)
    if bf16:
        # Casts of what they read and write move as many bytes again.
        casts_ms = work["bytes"] / about.rates.copy_bytes_per_ms
        factor[products] += (casts_ms / work["device_ms"])[products]
        for name, casts in CASTS_LAUNCHED.items():
            calls = step.where(products & step.of("pass", name))
            Edit(calls, gap_factor=1 + casts).apply(plan)
    Edit(work=np.arange(len(step.row)), factor=factor[step.row]).apply(plan)


def _fuse_attention(about: About, plan: Plan, _: Remedies) -> None:
    step = about.step
    products = step.of("kind", steps.CORE_PRODUCT) & step.of("pass", steps.FORWARD)
    if not products.any():
        raise NotKnownError("no range of it is attention written out: scores, softmax, values")
    products_ms = float(plan.duration_ns[step.where(products)].sum()) / NS_PER_MS
    layers = int(step.work.loc[products, "launches"].max())
    for name, (launches, share) in FUSED_ATTENTION.items():
        calls = step.where(step.of("leaf", *steps.CORE) & step.of("pass", name))
        if len(calls):
            _become(plan, calls, launches * layers, share * products_ms)


def _update(optimizer: str, about: About, plan: Plan, _: Remedies) -> None:
    calls = about.step.where(about.step.of("kind", steps.UPDATE))
    if not len(calls):
        return
    if not about.parameters > 0:
        raise NotKnownError("the number of its parameters is not known")
    moved_bytes, count = UPDATES[optimizer]
    _become(plan, calls, count, moved_bytes * about.parameters / about.rates.copy_bytes_per_ms)


def _fuse_chains(about: About, plan: Plan, remedies: Remedies) -> None:
    step = about.step
    rows = step.of("kind", steps.ELEMENTWISE)
    if not rows.any():
        raise NotKnownError("no chain of elementwise kernels is known of it")
    rows = rows & ~(step.of("leaf", *steps.CORE) & (SDPA in remedies))
    # Of each range, each time it runs, one kernel reads first and writes last.
    ranges = step.work[rows].groupby(["pass", "path"])
    left = ranges["instances"].transform("first") / ranges["launches"].transform("sum")
    factor = np.ones(len(rows))
    factor[rows] = left.clip(upper=1)
    price = np.where(step.of("pass", steps.OPTIMIZER), 1, COMPILED_PRICE)
    every = np.arange(len(step.row))
    edit = Edit(every, every, gap_factor=(factor * price)[step.row], factor=factor[step.row])
    edit.apply(plan)


def _graph(_: About, plan: Plan, __: Remedies) -> None:
    # All launches become one, also those of AdamW written out: its time is that of a replay.
    for edit in graphed(plan.recording.calls):
        edit.apply(plan)


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
