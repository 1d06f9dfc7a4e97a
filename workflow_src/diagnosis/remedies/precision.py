"""Another precision of products: bf16 by autocast, or tf32."""

from collections.abc import Callable

import numpy as np

from workflow_src.diagnosis.edit import Edit, Mask
from workflow_src.diagnosis.remedies.phase import About
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.trial import NotKnownError, Trial
from workflow_src.diagnosis.remedies.work import BACKWARD, CORE, ELEMENTWISE, FORWARD, PRODUCT

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
        trial.change(Edit(work=np.arange(len(step.row)), factor=factor[step.row]))
        if precision == "bf16":
            _autocast(trial)
        trial.precision = precision

    return effect


def _measured_core(about: About, precision: str) -> Mask:
    """Which rows are of attention's core, if that was measured in another precision."""
    measured = any(given == precision for given, _ in about.beside.core)
    return about.step.of("leaf", *CORE) & measured


def _autocast(trial: Trial) -> None:
    """Other passes, and the launches of casts, which come with the products'."""
    step, end = trial.step, trial.end("other passes in bf16")
    leaves = step.columns["leaf"]
    factors = {leaf: NARROWER.get(leaf, AS_WIDE).at(end) for leaf in set(leaves)}
    passes = step.of("kind", ELEMENTWISE) & ~_measured_core(trial.about, "bf16")
    factor = np.where(passes, [factors[leaf] for leaf in leaves], 1.0)
    trial.change(Edit(work=np.arange(len(step.row)), factor=factor[step.row]))
    for name, casts in CASTS_LAUNCHED.items():
        calls = step.where(step.of("kind", PRODUCT) & step.of("pass", name))
        more = trial.value("launches of casts", casts)
        trial.change(Edit(calls, gap_factor=1 + more))
        trial.extra_launches += more * len(calls)
