"""An attention of one's own: loaded from its file, called as it can be, and checked against
attention in float64 of the same inputs, forward and backward.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from workflow_src.common.case import Case
from workflow_src.common.errors import StageError
from workflow_src.measure.brought import function_of, in_words, parameters_of, place_of
from workflow_src.measure.precision import AUTOCAST
from workflow_src.measure.rows import out_of_memory
from workflow_src.model.attention import Core
from workflow_src.model.ranges import range_

CAUSAL = ("is_causal", "causal")
"""Parameters that get True."""

BATCH, HEADS, CONTEXT = 2, 2, 256
"""The check's shape; a case's context, if that is shorter."""

UNIT_ROUNDOFF = {torch.float32: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
"""By type; in float32 that of TF32, in which Triton multiplies unless it is told otherwise."""

ROUNDINGS = 8
"""Unit roundoffs that an error may have, relative to the norm of what is right.

A normwise error grows with the square root of the roundings that follow one another (Higham 2002,
section 2.8): of inputs, scores, weights and output, here. PyTorch's own attentions have 0.5 to 2.5
of them in bf16 and fp16; a mask that is off by one key has an error of a third of the norm.
"""


def allowed_error(dtype: torch.dtype) -> float:
    """The relative error up to which an attention of inputs in `dtype` is right."""
    return ROUNDINGS * UNIT_ROUNDOFF[dtype]


def loaded(where: str) -> Core:
    """The function, or the `apply` of a torch.autograd.Function, at file.py:name.

    It is called with q, k and v and, if it has a parameter of CAUSAL, True for it; `apply`, which
    takes no arguments by name, if that is the fourth. Raises StageError if the file can't be run.
    """
    found: Any = function_of(where)
    if not (isinstance(found, type) and issubclass(found, torch.autograd.Function)):
        flag = next((name for name in CAUSAL if name in parameters_of(found)), None)
        core: Core = partial(found, **{flag: True}) if flag else found
        return core
    has_context = found.setup_context is torch.autograd.Function.setup_context
    names = parameters_of(found.forward)[has_context:]
    flags = [True] if not {*names[3:4]}.isdisjoint(CAUSAL) else []
    return lambda q, k, v: found.apply(q, k, v, *flags)


def _of_shape(out: object, q: Tensor) -> Tensor:
    """`out`. Raises StageError if that isn't a tensor of the shape of q."""
    if isinstance(out, Tensor) and out.shape == q.shape:
        return out
    kind = f"of shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
    raise StageError(f"the output is {kind}, and q of shape {tuple(q.shape)}")


def folded(core: Core) -> Core:
    """A core of (batch, T, d), on (batch, heads, T, d)."""

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        flat = [each.flatten(0, 1) for each in (q, k, v)]
        whole: Tensor = _of_shape(core(*flat), flat[0]).unflatten(0, q.shape[:2])
        return whole

    return run


LAYOUTS: dict[str, Callable[[Core], Core]] = {
    "(batch, T, d)": folded,
    "(batch, heads, T, d)": lambda core: core,
}
"""What a function may take, in the order in which it is tried."""

Inputs = tuple[Tensor, Tensor, Tensor, Tensor]
"""Random q, k, v and the gradient of the output, (batch, heads, T, d) each."""


def random_inputs(context: int, d: int, device: str, dtype: torch.dtype) -> Inputs:
    """The inputs of a check, the same on any device.

    Those of a head don't lie together, as in a model, whose projection gives (batch, T, heads, d).
    """
    draw = torch.Generator().manual_seed(0)
    shape = (BATCH, context, HEADS, d)
    q, k, v, gradient = (
        torch.randn(shape, generator=draw).to(device, dtype).transpose(1, 2) for _ in range(4)
    )
    return q, k, v, gradient


def outcome(core: Core, inputs: Inputs) -> dict[str, Tensor]:
    """`out` and, unless the core has no backward pass, its gradients `dq`, `dk` and `dv`.

    Raises StageError for an output of another shape.
    """
    *given, gradient = inputs
    leaves = [each.detach().clone(memory_format=torch.preserve_format) for each in given]
    out = _of_shape(core(*(each.requires_grad_() for each in leaves)), inputs[0])
    found = {"out": out.detach()}
    if not out.requires_grad:
        return found
    try:
        gradients = torch.autograd.grad(out, leaves, gradient.to(out.dtype), materialize_grads=True)
    except NotImplementedError:
        return found
    return found | dict(zip(("dq", "dk", "dv"), gradients, strict=True))


def relative_errors(core: Core, inputs: Inputs, is_causal: bool = True) -> dict[str, float]:
    """Of each tensor of `outcome`, the norm of the error over that of what is right."""
    q, k, v, gradient = (each.double() for each in inputs)
    attention = partial(scaled_dot_product_attention, is_causal=is_causal)
    right = outcome(attention, (q, k, v, gradient))
    return {
        name: float((tensor.double() - right[name]).norm() / right[name].norm())
        for name, tensor in outcome(core, inputs).items()
    }


def checked(
    where: str, context: int, d: int, device: str, dtype: torch.dtype
) -> tuple[Core, dict[str, float]]:
    """The attention at file.py:name as a core of (batch, heads, T, d), and its relative errors.

    In the first of LAYOUTS in which it is right; without an error of dq, it has no backward pass.
    May run out of memory. Raises StageError if it is right in none.
    """
    core, tried = loaded(where), dict[str, list[str]]()
    inputs = random_inputs(min(context, CONTEXT), d, device, dtype)
    for layout, arranged in LAYOUTS.items():
        errors, why = _judged(where, arranged(core), inputs)
        if not why:
            return arranged(core), errors
        tried.setdefault(why, []).append(layout)
    said = "; ".join(f"on {' or '.join(on)} {why}" for why, on in tried.items())
    raise StageError(f"{where}: {said}")


def _judged(where: str, core: Core, inputs: Inputs) -> tuple[dict[str, float], str]:
    """Its relative errors, and what is wrong, or ""."""
    allowed = allowed_error(inputs[0].dtype)

    def off(errors: dict[str, float]) -> str:
        # Not a number counts as off.
        wide = [f"{error:.2g} in {name}" for name, error in errors.items() if not error <= allowed]
        return f"its error is {', '.join(wide)}, where {allowed:.2g} is allowed" if wide else ""

    try:
        errors = relative_errors(core, inputs)
        why = off(errors)
        if why and not off(relative_errors(core, inputs, is_causal=False)):
            why += ", but it is right without a causal mask"
    except StageError as error:
        return {}, str(error)
    except Exception as error:
        if out_of_memory(error):
            raise
        return {}, f"it raised {in_words(error)}{place_of(where, error)}"
    return errors, why


def own_core(case: Case) -> Core | None:
    """A case's own attention, checked in its precision; None without one.

    q, k, v and its result are (batch, heads, T, d_head) each. Raises StageError if it isn't right,
    or has no backward pass.
    """
    where = case.brought_code
    if not where:
        return None
    dtype = AUTOCAST.get(case.precision, torch.float32)
    core, errors = checked(where, case.context, case.d_head, case.device, dtype)
    if "dq" not in errors:
        raise StageError(f"{where}: it has no backward pass, without which no model is trained")

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with range_("own_attention"):
            return core(q, k, v)

    return attend
