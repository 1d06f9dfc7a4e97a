"""What each remedy changes in a step: which of its launches, and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Mask, Plan, Span, graphed, merged
from workflow_src.diagnosis.remedies import steps
from workflow_src.diagnosis.remedies.rates import About, around, flops_of, products

UPDATES = {"foreach": (80, 8, Span(0.2, 0.5, 1.5)), "fused": (28, 1, Span(0.1, 0.3, 1.0))}
"""Of torch's own optimizers: bytes per parameter in float32 that a step reads and writes, passes
over tensors, and what the host takes for each parameter's tensor, in launches.

AdamW reads weight, gradient and two moments, and writes all but the gradient. Written out, its
operators move 88 bytes (`operators.csv` of examples/h100: 299.8 GB for 3,406.8 M parameters).
"""

Ends = Mapping[str, int]
"""Which end of its span each uncertain quantity is at: -1 or 1; 0, or no entry, is in between."""

COMPILE = "compile"

STACKS = (
    ("sdpa", "fused"),
    ("bf16",),
    ("bf16", "sdpa"),
    ("bf16", "sdpa", "fused"),
    ("bf16", "sdpa", "fused", COMPILE),
    ("bf16", "sdpa", "fused", GRAPH),
    ("bf16", "sdpa", "fused", COMPILE, GRAPH),
)
"""Remedies together, as far as they change the case."""

CASTS_LAUNCHED = {steps.FORWARD: Span(1.0, 1.6, 2.0), steps.BACKWARD: Span(0.5, 0.8, 1.2)}
"""Casts for each product outside of attention's core, in launches of the usual price."""

NARROWER = {
    "scores": Span(0.5, 0.65, 0.95),
    "softmax": Span(0.95, 1.05, 1.2),
    "feed_forward": Span(0.45, 0.55, 0.75),
    "rotary": Span(1.0, 1.3, 1.6),
    "block": Span(1.0, 1.4, 1.8),
    "": Span(0.8, 1.0, 1.2),
}
"""By range, "" for others, the time of passes over tensors under autocast, of that in float32:
scores and the feed-forward layer's are half as wide, softmax's in float32 but for its maximum, and
where both types meet, torch has no vectorized kernel."""

BACKWARD_SHARE = 2.5
"""FLOPs of fused attention's backward pass, which computes the scores again, over forward's."""

ATTENTION_KERNELS = {steps.FORWARD: 1, steps.BACKWARD: 2}

FUSED_PRICE = Span(1.0, 2.0, 4.0)
"""Of the call of fused attention, in launches."""

ELEMENTS_AT_ONCE = 320 * 65_536
"""Of one launch of a multi-tensor kernel: 320 blocks (PyTorch's
ATen/native/cuda/MultiTensorApply.cuh)."""

UPDATE_OPERATORS = 9
"""Operators of AdamW written out, for each tensor."""

PASSES_UNSURE = 0.15
"""A kernel that moves known bytes seldom runs at a copy's rate exactly."""

CHAIN_LEFT = Span(0.5, 1.0, 2.0)
"""Of a chain's time over its length: one kernel that reads first and writes last."""

COMPILED_PRICE = Span(0.2, 0.85, 1.7)
"""Of a launch of compiled code, in launches."""


class NotKnownError(Exception):
    """A remedy's effect can't be told of a case; the message says why."""


@dataclass
class Trial:
    """A step that remedies are applied to, one after another; asked: quantities asked for."""

    about: About
    plan: Plan
    ends: Ends
    precision: str
    fused_attention: bool = False
    asked: set[str] = field(default_factory=set)

    def change(self, *edits: Edit) -> None:
        """Apply edits to the plan."""
        for edit in edits:
            edit.apply(self.plan)

    def end(self, name: str) -> int:
        """At which end an uncertain quantity is."""
        self.asked.add(name)
        return self.ends.get(name, 0)

    def value(self, name: str, span: Span) -> float:
        """An uncertain quantity at its present end."""
        return span.at(self.end(name))

    def merge(self, calls: Indices, groups: int, each_ns: float, price: float) -> None:
        """Launches become so many, each of which takes so long (ns) and costs `price` ones."""
        groups = max(1, min(groups, len(calls)))
        group = np.arange(len(calls)) * groups // len(calls)
        duration = np.full(groups, round(each_ns), dtype=np.int64)
        first = calls[np.searchsorted(group, np.arange(groups))]
        self.change(*merged(self.plan.recording, calls, group, duration))
        self.change(Edit(first, gap_factor=price))


def _narrow(precision: str, trial: Trial) -> None:
    about, step, bf16 = trial.about, trial.about.step, precision == "bf16"
    if precision not in about.rates.product_flops_per_ms:
        raise NotKnownError(f"the run has no ceiling of products in {precision}")
    rows, products_ms, casts_ms = products(about, precision)
    ms = products_ms[:, trial.end("products")]
    if bf16:
        ms = ms + casts_ms[:, trial.end("casts")]
    factor, passes = np.ones(len(step.work)), step.of("kind", steps.ELEMENTWISE)
    factor[rows] = ms / step.work["device_ms"].to_numpy()[rows]
    for name in ATTENTION_KERNELS:
        if span := about.beside.get(("core", precision, name)):
            core = step.of("leaf", *steps.CORE) & step.of("pass", name)
            factor[core] = trial.value("attention's core", span)
            passes &= ~core
    if bf16:
        end = trial.end("other passes in bf16")
        leaves = step.texts["leaf"][passes]
        factor[passes] = [NARROWER.get(leaf, NARROWER[""]).at(end) for leaf in leaves]
        for name, casts in CASTS_LAUNCHED.items():
            calls = step.where(step.of("kind", steps.PRODUCT) & step.of("pass", name))
            more = trial.value("launches of casts", casts)
            trial.change(Edit(calls, gap_factor=1 + more))
    trial.change(Edit(work=np.arange(len(step.row)), factor=factor[step.row]))
    trial.precision = precision


def _fuse_attention(trial: Trial) -> None:
    step = trial.about.step
    products = step.of("kind", steps.CORE_PRODUCT) & step.of("pass", steps.FORWARD)
    if not products.any():
        raise NotKnownError("no range of it is attention written out: scores, softmax, values")
    took = {name: _attention_ms(trial, products, name) for name in ATTENTION_KERNELS}
    layers = int(step.work.loc[products, "launches"].max())
    for name, kernels in ATTENTION_KERNELS.items():
        calls = step.where(step.of("leaf", *steps.CORE) & step.of("pass", name))
        if len(calls):
            count = kernels * layers
            price = trial.value("price", FUSED_PRICE)
            trial.merge(calls, count, took[name] * NS_PER_MS / count, price)
    trial.fused_attention = True


def _attention_ms(trial: Trial, products: Mask, name: str) -> float:
    """As measured, or by its FLOPs (docs/replay.md)."""
    about = trial.about
    measured = about.beside.get(("attention_ms", trial.precision, name))
    if measured:
        return trial.value("fused attention", measured)
    flops = float(flops_of(about.step.work[products]).sum())
    if not flops:
        raise NotKnownError("the sizes of attention's products are not known")
    now_ms = float(trial.plan.duration_ns[about.step.where(products)].sum()) / NS_PER_MS
    present = flops / max(now_ms, 1e-9)
    most = max(about.rates.product_flops_per_ms.get(trial.precision, present), present)
    rate = trial.value("fused attention", Span(present, (present * most) ** 0.5, most))
    return flops / rate * (BACKWARD_SHARE if name == steps.BACKWARD else 1.0)


def _update(optimizer: str, trial: Trial) -> None:
    about = trial.about
    calls = about.step.where(about.step.of("kind", steps.UPDATE))
    if not len(calls):
        return
    if not about.parameters:
        raise NotKnownError("its optimizer's operators don't tell the number of parameters")
    moved_bytes, passes, price = UPDATES[optimizer]
    count = round(passes * max(1.0, about.parameters / ELEMENTS_AT_ONCE))
    copied_ms = moved_bytes * about.parameters / about.rates.copy_bytes_per_ms
    ms = trial.value("bytes of AdamW", around(copied_ms, PASSES_UNSURE))
    host = trial.value("price of tensors", price) * len(calls) / UPDATE_OPERATORS
    trial.merge(calls, count, ms * NS_PER_MS / count, 1 + host / count)


def _fuse_chains(trial: Trial) -> None:
    step = trial.about.step
    if not step.of("kind", steps.ELEMENTWISE).any():
        raise NotKnownError("no chain of elementwise kernels is known of it")
    calls, group, share = steps.chains(step, trial.fused_attention)
    left = np.minimum(1.0, share * trial.value("what fusion leaves", CHAIN_LEFT))
    whole_ns = np.bincount(group, trial.plan.duration_ns[calls], len(left))
    ns = np.rint(left * whole_ns).astype(np.int64)
    trial.change(*merged(trial.plan.recording, calls, group, ns))
    inside = step.where(~step.of("pass", steps.OPTIMIZER))
    trial.change(Edit(inside, gap_factor=trial.value("price of compiled code", COMPILED_PRICE)))


EFFECTS: dict[str, Callable[[Trial], None]] = {
    "bf16": partial(_narrow, "bf16"),
    "tf32": partial(_narrow, "tf32"),
    "sdpa": _fuse_attention,
    "foreach": partial(_update, "foreach"),
    "fused": partial(_update, "fused"),
    COMPILE: _fuse_chains,
    # All launches become one, also those of AdamW written out: its time is that of a replay.
    GRAPH: lambda trial: trial.change(*graphed(trial.about.step.recording.calls)),
}
"""What each of REMEDIES changes of a step; one whose effect can't be told raises NotKnownError."""


def combinations(precision: str, attention: str, optimizer: str) -> list[tuple[str, ...]]:
    """Of the remedies that change a case each alone and with a graph, and STACKS."""
    changing = {
        "bf16": precision in ("fp32", "tf32"),
        "tf32": precision == "fp32",
        "sdpa": attention != "sdpa",
        "foreach": optimizer == "adamw",
        "fused": optimizer != "fused",
    }
    given = [name for name in EFFECTS if changing.get(name, True)]
    stacks = (tuple(name for name in stack if name in given) for stack in STACKS)
    alone = [(name,) for name in given]
    with_graph = [(name, GRAPH) for name in given if name != GRAPH]
    return list(dict.fromkeys([*alone, *with_graph, *filter(None, stacks)]))
