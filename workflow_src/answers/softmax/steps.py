"""The steps of softmax: what each of its kernels does, in the order in which they run."""

import pandas as pd

from workflow_src.answers.kernels import device_ms, grouped, share
from workflow_src.answers.parts import Part
from workflow_src.placing.kernel_words import TO_FP32

_STEPS = {
    "maximum": "maximum",
    "subtraction": "subtraction",
    "addition or subtraction": "subtraction",
    TO_FP32: TO_FP32,
    "copy": "copy or cast",
    "exponential": "exponential",
    "sum": "sum",
    "division": "division",
    "softmax": "softmax in one",
}
"""Steps by what their kernels do."""

REST = "other"
ORDER = (*dict.fromkeys(_STEPS.values()), REST)
CASTS = (TO_FP32, _STEPS["copy"])


def steps_of(softmax: pd.DataFrame) -> tuple[Part, ...]:
    """The steps of softmax that take time, in their order, with their shares of it.

    `softmax`: the rows of its range, of `device_rows`.
    """
    named = softmax.assign(step=[_STEPS.get(str(what), REST) for what in softmax["what"]])
    groups = grouped(named, "step")
    found = (
        (name, device_ms(groups[name]), share(groups[name], softmax))
        for name in ORDER
        if name in groups
    )
    return tuple(Part(name, ms, part) for name, ms, part in found if ms and ms.number and part)
