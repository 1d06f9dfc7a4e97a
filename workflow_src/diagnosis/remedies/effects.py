"""What each remedy changes in a step: which work vanishes, shrinks or is replaced, and by what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import (
    Change,
    DropLaunches,
    Factors,
    Mask,
    MergeLaunches,
    Plan,
    ScaleGap,
    ScaleWork,
)
from workflow_src.diagnosis.remedies.rates import Rates, is_product
from workflow_src.diagnosis.remedies.span import Ends, Span
from workflow_src.diagnosis.remedies.steps import Launched
from workflow_src.diagnosis.remedies.work import (
    BACKWARD,
    CORE,
    CORE_PRODUCT,
    ELEMENTWISE,
    FORWARD,
    OPTIMIZER,
    PRODUCT,
    UPDATE,
)

ELEMENTS_AT_ONCE = 320 * 65_536
"""What one launch of a multi-tensor kernel takes: 320 blocks of 65,536 elements (PyTorch's
ATen/native/cuda/MultiTensorApply.cuh)."""

UPDATE_BYTES = {"foreach": 80, "fused": 28}
"""Bytes per parameter in float32 that AdamW moves (common/case.py tells why)."""

UPDATE_OPERATORS = 9
"""Operators of AdamW written out, for each tensor of parameters."""

UPDATE_PASSES = {"foreach": 8, "fused": 1}

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

PASSES_UNSURE = 0.15
"""A kernel that moves known bytes seldom runs at a copy's rate exactly."""

CAST_ACTIVATIONS = Span(0.3, 0.6, 1.0)
"""Of the inputs and results of linear layers, how many are cast: some are in bf16 already."""

CASTS_LAUNCHED = {FORWARD: Span(1.0, 1.6, 2.0), BACKWARD: Span(0.5, 0.8, 1.2)}
"""Casts for each product outside of attention's core, by pass, in launches of the usual price."""

NARROWER = {
    "scores": Span(0.5, 0.65, 0.95),
    "softmax": Span(0.95, 1.05, 1.2),
    "feed_forward": Span(0.45, 0.55, 0.75),
    "rotary": Span(1.0, 1.3, 1.6),
    "block": Span(1.0, 1.4, 1.8),
}
"""By range, what passes over tensors take under autocast, of their time in float32: scores and the
feed-forward layer's are half as wide, softmax's in float32 but for its maximum, and where both
types meet, torch has no vectorized kernel."""

AS_WIDE = Span(0.8, 1.0, 1.2)
"""The same of all other ranges."""

BACKWARD_SHARE = 2.5
"""FLOPs of fused attention's backward pass, which computes the scores again, over forward's."""

ATTENTION_KERNELS = {FORWARD: 1, BACKWARD: 2}

FUSED_PRICE = Span(1.0, 2.0, 4.0)
"""Of the call of fused attention, in launches."""

TENSOR_PRICE = {"foreach": Span(0.2, 0.5, 1.5), "fused": Span(0.1, 0.3, 1.0)}
"""What the host takes for each parameter's tensor in torch's own optimizers, in launches."""

CHAIN_LEFT = Span(0.5, 1.0, 2.0)
"""Of a chain's time over its length, which is that of one kernel that reads first, writes last."""

COMPILED_PRICE = Span(0.2, 0.85, 1.7)
"""Of a launch of compiled code, in launches."""


class NotKnownError(Exception):
    """A remedy's effect can't be told of a case; the message says why."""


@dataclass(frozen=True)
class Beside:
    """What was measured beside a plain step, and takes the place of what its tables tell.

    core: what attention's core takes in another precision, of its present time, by precision and
    pass; attention_ms: fused attention in all layers, likewise; cast_bytes: of weights and
    activations under autocast, by pass.
    """

    core: Mapping[tuple[str, str], Span] = field(default_factory=dict)
    attention_ms: Mapping[tuple[str, str], Span] = field(default_factory=dict)
    cast_bytes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """What is known of a case's phase.

    tokens: of a batch; parameters: 0 if it isn't known; update_in_graph: whether a graph holds
    AdamW written out, too, which counts its steps on the host: its time is that of a replay.
    """

    step: Launched
    rates: Rates
    precision: str
    optimizer: str
    tokens: int
    parameters: float
    update_in_graph: bool = True
    beside: Beside = Beside()

    @cached_property
    def core(self) -> "Core | None":
        """Attention's core; None if no range is it."""
        step, work = self.step, self.step.work
        products = step.of("kind", CORE_PRODUCT) & step.of("pass", FORWARD)
        if not products.any():
            return None
        table = work.loc[products, ["m", "n", "k", "matrices", "launches"]].astype("float64")
        flops = 2.0 * float(table.prod(axis=1).sum())
        return Core(products, flops, int(table["launches"].max()))

    @cached_property
    def _products(self) -> dict[str, "Products"]:
        return {}

    def products(self, precision: str) -> "Products":
        """What its products would take in another precision."""
        if precision not in self._products:
            rows = np.flatnonzero(is_product(self.step.work))
            given = [self.step.work.iloc[row] for row in rows]
            about = (self.precision, precision, self.tokens)
            ms = [self.rates.product_ms(row, *about) for row in given]
            casts = [_casts_ms(self, row) for row in given]
            self._products[precision] = Products(rows, _by_end(ms), _by_end(casts))
        return self._products[precision]


class Core(NamedTuple):
    """Attention written out: its products forward, their FLOPs, and how many layers have it."""

    products: Mask
    flops: float
    layers: int


@dataclass(frozen=True)
class Products:
    """Rows of work that multiply, and the time (ms) of each in another precision, with casts.

    A column per end of the span, so that -1 is the last: usual, most, least.
    """

    rows: Indices
    ms: Factors
    casts_ms: Factors


def _by_end(spans: Sequence[Span]) -> Factors:
    return np.array([[each.at(end) for end in (0, 1, -1)] for each in spans]).reshape(-1, 3)


@dataclass
class Trial:
    """A step that remedies are applied to, one after another.

    about: the case; plan: the step so far; ends: at which end of its span each uncertain quantity
    is; precision, optimizer: the present ones; extra_launches: of launches that stand for more than
    one; asked: the quantities that were asked for.
    """

    about: About
    plan: Plan
    ends: Ends
    precision: str
    optimizer: str
    extra_launches: float = 0.0
    fused_attention: bool = False
    asked: set[str] = field(default_factory=set)

    @property
    def step(self) -> Launched:
        """The plain step."""
        return self.about.step

    def change(self, change: Change) -> None:
        """Apply a change to what is left."""
        change.apply(self.plan)

    def end(self, name: str) -> int:
        """At which end an uncertain quantity is."""
        self.asked.add(name)
        return self.ends.get(name, 0)

    def value(self, name: str, span: Span) -> float:
        """An uncertain quantity at its present end."""
        return span.at(self.end(name))


def narrow(precision: str) -> Callable[[Trial], None]:
    """Another precision of products: bf16 by autocast, or tf32."""

    def effect(trial: Trial) -> None:
        if precision not in trial.about.rates.product_flops_per_ms:
            raise NotKnownError(f"the run has no ceiling of products in {precision}")
        step, products = trial.step, trial.about.products(precision)
        ms = products.ms[:, trial.end("products")]
        if precision == "bf16":
            ms = ms + products.casts_ms[:, trial.end("casts")]
        factor = np.ones(len(step.work))
        factor[products.rows] = ms / step.work["device_ms"].to_numpy()[products.rows]
        for (given, name), span in trial.about.beside.core.items():
            if given == precision:
                core = step.of("leaf", *CORE) & step.of("pass", name)
                factor[core] = trial.value("attention's core", span)
        trial.change(ScaleWork(np.arange(len(step.row)), factor[step.row]))
        if precision == "bf16":
            _autocast(trial)
        trial.precision = precision

    return effect


def _measured_core(about: About, precision: str) -> Mask:
    """Which rows are of attention's core, if that was measured in another precision."""
    measured = any(given == precision for given, _ in about.beside.core)
    return about.step.of("leaf", *CORE) & measured


def _casts_ms(about: About, row: pd.Series) -> Span:
    """Casts to and from bf16 beside a product: its weight's and some of its activations'."""
    each = CAST_BYTES * row["launches"] / about.rates.copy_bytes_per_ms
    m, n, k, matrices = (float(row[name]) for name in ("m", "n", "k", "matrices"))
    if not m:
        return _share_of_casts_ms(about, row)
    if row["kind"] == CORE_PRODUCT:
        wide = matrices * m * (k if row["leaf"] == "values" else 0.0)
        return Span(0.5, 1.0, 1.2).times(each * wide)
    if row["pass"] == FORWARD:
        return Span(*(each * (n * k + share * m * k) for share in CAST_ACTIVATIONS))
    if k == about.tokens:
        return Span(0.8, 1.0, 1.2).times(each * m * n)
    return CAST_ACTIVATIONS.times(each * m * n)


def _share_of_casts_ms(about: About, row: pd.Series) -> Span:
    """Of the casts beside products whose sizes aren't known, by their time."""
    name, work = row["pass"], about.step.work
    if row["kind"] == CORE_PRODUCT or name not in about.beside.cast_bytes:
        return Span(0.0, 0.0, 0.0)
    alike = work[(work["pass"] == name) & (work["kind"] == PRODUCT)]
    share = row["device_ms"] / alike["device_ms"].sum()
    ms = share * about.beside.cast_bytes[name] / about.rates.copy_bytes_per_ms
    return Span(0.6, 1.0, 1.4).times(ms)


def _autocast(trial: Trial) -> None:
    """Other passes, and the launches of casts, which come with the products'."""
    step, end = trial.step, trial.end("other passes in bf16")
    leaves = step.columns["leaf"]
    factors = {leaf: NARROWER.get(leaf, AS_WIDE).at(end) for leaf in set(leaves)}
    passes = step.of("kind", ELEMENTWISE) & ~_measured_core(trial.about, "bf16")
    factor = np.where(passes, [factors[leaf] for leaf in leaves], 1.0)
    trial.change(ScaleWork(np.arange(len(step.row)), factor[step.row]))
    for name, casts in CASTS_LAUNCHED.items():
        calls = step.where(step.of("kind", PRODUCT) & step.of("pass", name))
        more = trial.value("launches of casts", casts)
        trial.change(ScaleGap(calls, 1 + more))
        trial.extra_launches += more * len(calls)


def fuse_attention(trial: Trial) -> None:
    """One kernel forward and two backward in place of each layer's scores, softmax and values."""
    step, core = trial.step, trial.about.core
    if core is None:
        raise NotKnownError("no range of it is attention written out: scores, softmax, values")
    took = {name: _attention_ms(trial, core, name) for name in ATTENTION_KERNELS}
    for name, kernels in ATTENTION_KERNELS.items():
        calls = step.where(step.of("leaf", *CORE) & step.of("pass", name))
        if len(calls):
            count = kernels * core.layers
            price = trial.value("price", FUSED_PRICE)
            _merge(trial, calls, count, took[name] * NS_PER_MS / count, price)
    trial.fused_attention = True


def _attention_ms(trial: Trial, core: Core, name: str) -> float:
    """Fused attention in a pass: as measured, or by its FLOPs.

    Its rate is between that of the present products and the reference product's.
    """
    measured = trial.about.beside.attention_ms.get((trial.precision, name))
    if measured:
        return trial.value("fused attention", measured)
    if not core.flops:
        raise NotKnownError("the sizes of attention's products are not known")
    now_ms = float(trial.plan.duration_ns[trial.step.where(core.products)].sum()) / NS_PER_MS
    present = core.flops / max(now_ms, 1e-9)
    most = max(trial.about.rates.product_flops_per_ms.get(trial.precision, present), present)
    rate = trial.value("fused attention", Span(present, (present * most) ** 0.5, most))
    return core.flops / rate * (BACKWARD_SHARE if name == BACKWARD else 1.0)


def _merge(trial: Trial, calls: Indices, groups: int, each_ns: float, price: float = 1.0) -> None:
    """Launches become so many, evenly, each of which takes so long and costs `price` launches."""
    groups = max(1, min(groups, len(calls)))
    group = np.arange(len(calls)) * groups // len(calls)
    duration = np.full(groups, round(each_ns), dtype=np.int64)
    first = calls[np.searchsorted(group, np.arange(groups))]
    trial.change(MergeLaunches(calls, group, duration))
    trial.change(ScaleGap(first, price))


def update(optimizer: str) -> Callable[[Trial], None]:
    """Torch's AdamW over all parameters at once, in some passes or in one."""

    def effect(trial: Trial) -> None:
        rows = trial.step.of("kind", UPDATE)
        calls = trial.step.where(rows)
        trial.optimizer = optimizer
        if not len(calls):
            return
        if not trial.about.parameters:
            raise NotKnownError("its optimizer's operators don't tell the number of parameters")
        passes = UPDATE_PASSES[optimizer]
        count = round(passes * max(1.0, trial.about.parameters / ELEMENTS_AT_ONCE))
        span = trial.about.rates.moving(
            UPDATE_BYTES[optimizer] * trial.about.parameters, PASSES_UNSURE
        )
        ms = trial.value("bytes of AdamW", span)
        tensors = len(calls) / UPDATE_OPERATORS
        host = trial.value("price of tensors", TENSOR_PRICE[optimizer]) * tensors
        _merge(trial, calls, count, ms * NS_PER_MS / count, 1 + host / count)

    return effect


def fuse_chains(trial: Trial) -> None:
    """The elementwise kernels of a range become one, which reads first and writes last."""
    step = trial.step
    chains = step.chains_outside_core if trial.fused_attention else step.chains
    if not len(step.chains.calls):
        raise NotKnownError("no chain of elementwise kernels is known of it")
    left = np.minimum(1.0, chains.share * trial.value("what fusion leaves", CHAIN_LEFT))
    duration = trial.plan.duration_ns[chains.calls]
    whole_ns = np.bincount(chains.group, duration, minlength=len(left))
    trial.change(
        MergeLaunches(chains.calls, chains.group, np.rint(left * whole_ns).astype(np.int64))
    )
    inside = step.where(~step.of("pass", OPTIMIZER))
    trial.change(ScaleGap(inside, trial.value("price of compiled code", COMPILED_PRICE)))


def graph(trial: Trial) -> None:
    """All launches become one."""
    inside = np.ones(len(trial.step.row), dtype=bool)
    if trial.optimizer == "adamw" and not trial.about.update_in_graph:
        inside[trial.step.where(trial.step.of("pass", OPTIMIZER))] = False
    trial.change(DropLaunches(np.flatnonzero(inside)))
    trial.extra_launches = 0.0


EFFECTS: dict[str, Callable[[Trial], None]] = {
    "bf16": narrow("bf16"),
    "tf32": narrow("tf32"),
    "sdpa": fuse_attention,
    "foreach": update("foreach"),
    "fused": update("fused"),
    "compile": fuse_chains,
    "graph": graph,
}
"""What each of REMEDIES changes of a step."""


def applied(trial: Trial, remedies: Sequence[str]) -> Trial:
    """The step with remedies. Raises NotKnownError if one's effect can't be told."""
    for remedy in remedies:
        EFFECTS[remedy](trial)
    return trial
