"""Torch's AdamW over all parameters at once, in place of one written out."""

from collections.abc import Callable

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.trial import NotKnownError, Trial
from workflow_src.diagnosis.remedies.work import UPDATE

ELEMENTS_AT_ONCE = 320 * 65_536
"""What one launch of a multi-tensor kernel takes: 320 blocks of 65,536 elements (PyTorch's
ATen/native/cuda/MultiTensorApply.cuh)."""

UPDATE_BYTES = {"foreach": 80, "fused": 28}
"""Bytes per parameter in float32 that AdamW moves (common/case.py tells why)."""

UPDATE_OPERATORS = 9
"""Operators of AdamW written out, for each tensor of parameters."""

UPDATE_PASSES = {"foreach": 8, "fused": 1}

PASSES_UNSURE = 0.15
"""A kernel that moves known bytes seldom runs at a copy's rate exactly."""

TENSOR_PRICE = {"foreach": Span(0.2, 0.5, 1.5), "fused": Span(0.1, 0.3, 1.0)}
"""What the host takes for each parameter's tensor in torch's own optimizers, in launches."""


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
        trial.merge(calls, count, ms * NS_PER_MS / count, 1 + host / count)

    return effect
