"""Fused attention in place of that which is written out."""

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies.phase import Core
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.trial import NotKnownError, Trial
from workflow_src.diagnosis.remedies.work import BACKWARD, CORE, FORWARD

BACKWARD_SHARE = 2.5
"""FLOPs of fused attention's backward pass, which computes the scores again, over forward's."""

ATTENTION_KERNELS = {FORWARD: 1, BACKWARD: 2}

FUSED_PRICE = Span(1.0, 2.0, 4.0)
"""Of the call of fused attention, in launches."""


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
            trial.merge(calls, count, took[name] * NS_PER_MS / count, price)
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
