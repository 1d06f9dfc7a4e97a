"""What each remedy does to a step's work, predicted from the plain variant alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from workflow_src.common.case import OPTIMIZER_TRAFFIC_BYTES
from workflow_src.model.flops import fused_softmax_bytes
from workflow_src.studies.levers.known import Known
from workflow_src.studies.levers.parts import KINDS, NOTHING, Part, Parts
from workflow_src.studies.levers.unsure import (
    COARSE,
    FUSION_UNSURE,
    PASSES_UNSURE,
    PRODUCTS_UNSURE,
    STREAM_CASTS_UNSURE,
)

ELEMENTS_AT_ONCE = 320 * 65_536
"""What one launch of a multi-tensor kernel takes: 320 blocks of 65,536 elements (PyTorch's
ATen/native/cuda/MultiTensorApply.cuh)."""

STREAM_HALVES = 0.75
"""Of elementwise work in float32, what is left with bf16 weights: the residual stream is half as
wide, the norms still compute in float32."""

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

LINEAR_CASTS = 12
"""Bytes per weight of a linear layer: cast to bf16 in forward, its gradient cast back."""


@dataclass(frozen=True)
class State:
    """A variant's predicted work, and what it runs with."""

    parts: Parts
    mode: str
    attention: str = "naive"
    optimizer: str = "adamw"
    graph: bool = False
    batches: int = 1

    def changed(self, parts: Parts, **other: object) -> "State":
        """With some parts replaced."""
        return replace(self, parts=self.parts | parts, **other)  # type: ignore[arg-type]


def _cores(known: Known, state: State, attention: str, mode: str) -> Parts:
    """The work of attention's core in all blocks of a step, one batch at a time."""
    layers = known.case.layers
    piece = "sdpa" if attention == "sdpa" else "naive"
    found = {}
    for each in ("forward", "backward"):
        core = known.pieces[piece, mode, each]
        if attention in ("fused_softmax", "triton_softmax"):
            core = core.without(known.pieces["softmax", mode, each])
            core = core.without(_spared(known, attention, mode))
            core += _softmax(known, attention, mode, each)
        scale = layers * state.batches
        found[f"{each} core"] = core.times(scale, 0.1, layers)
    return found


def _softmax(known: Known, attention: str, mode: str, which: str) -> Part:
    """One block's softmax as one kernel: two passes over the matrix forward, three backward."""
    case = known.case
    elements = case.batch * case.heads * case.context**2
    precision = "fp32" if mode == "fp32" else "bf16"
    widens = mode == "bf16" and case.device != "cpu"
    moved = fused_softmax_bytes(attention, precision, widens, which) * elements
    casts = widens and attention != "triton_softmax"
    return known.moving(moved, 2 if casts else 1, PASSES_UNSURE)


def _spared(known: Known, attention: str, mode: str) -> Part:
    """One block's cast of softmax's result, which the Triton softmax writes in bf16 itself."""
    case = known.case
    if attention != "triton_softmax" or mode != "bf16" or case.device == "cpu":
        return NOTHING
    return known.moving(CAST_BYTES * case.batch * case.heads * case.context**2, 1, PASSES_UNSURE)


def attend(attention: str) -> Callable[[Known, State], State]:
    """Another attention."""

    def effect(known: Known, state: State) -> State:
        new = _cores(known, state, attention, state.mode)
        return state.changed(new, attention=attention)

    return effect


def optimize(optimizer: str) -> Callable[[Known, State], State]:
    """Another implementation of AdamW."""

    def effect(known: Known, state: State) -> State:
        narrow = 0.5 if state.mode == "bf16_weights" else 1.0
        each = OPTIMIZER_TRAFFIC_BYTES[optimizer]
        passes = 1 if optimizer == "fused" else 8
        launches = passes * max(1.0, known.parameters / ELEMENTS_AT_ONCE) * known.optimizer_price
        new = known.moving(each * narrow * known.parameters, launches, PASSES_UNSURE)
        return state.changed({"optimizer": new}, optimizer=optimizer)

    return effect


def _narrower(known: Known) -> float:
    """The time of a product in bf16, in terms of the same one in the case's own precision."""
    return known.product["bf16"] / known.product[known.case.precision]


def _products(known: Known, state: State) -> Parts:
    """Products in bf16, by the ratio of one measured in both types."""
    names = [f"{each} products" for each in ("forward", "backward")]
    return {name: state.parts[name].times(_narrower(known), PRODUCTS_UNSURE) for name in names}


def _weights(known: Known) -> int:
    """Parameters of linear layers, which autocast casts."""
    case = known.case
    return known.parameters - case.vocabulary * case.d_model


def autocast(known: Known, state: State) -> State:
    """Bf16 autocast in place of float32."""
    case, new = known.case, _products(known, state) | _cores(known, state, state.attention, "bf16")
    stream = case.batch * case.context * case.d_model * state.batches
    linear = 5 * case.layers + 1
    each = LINEAR_CASTS / 2 * _weights(known) + 6 * 4 * case.layers * stream
    for which in ("forward", "backward"):
        new[f"{which} casts"] = known.moving(each, 2 * linear, 2 * COARSE)
        pointwise = state.parts[f"{which} pointwise"]
        new[f"{which} pointwise"] = pointwise.times(1 - known.gated / 2, COARSE)
    return state.changed(new, mode="bf16")


def _stream_casts(known: Known, state: State, which: str) -> Part:
    """With bf16 weights: norms and rotary positions compute in float32, and cast to it and back."""
    case = known.case
    casts = 2 * (2 * case.layers + 1) + 2 * case.layers
    stream = case.batch * case.context * case.d_model * state.batches
    passes = 1 if which == "forward" else 2
    moved = passes * casts * CAST_BYTES * stream
    return known.moving(moved, passes * casts, STREAM_CASTS_UNSURE)


def bf16_weights(known: Known, state: State) -> State:
    """Parameters in bfloat16, without autocast."""
    new = _cores(known, state, state.attention, "bf16_weights")
    if state.mode == "fp32":
        new |= _products(known, state)
    for which in ("forward", "backward"):
        new[f"{which} casts"] = _stream_casts(known, state, which)
        new[f"{which} pointwise"] = state.parts[f"{which} pointwise"].times(STREAM_HALVES, COARSE)
    new["optimizer"] = state.parts["optimizer"].times(0.5, PASSES_UNSURE)
    return state.changed(new, mode="bf16_weights")


def graph(known: Known, state: State) -> State:
    """Replayed as a CUDA graph: what is left of launching is a short gap between kernels."""
    return replace(state, graph=True)


def compiled(known: Known, state: State) -> State:
    """Chains of elementwise kernels become one, which reads first and writes last."""
    new: Parts = {}
    left = 1 / known.chain
    for which in ("forward", "backward"):
        pointwise = state.parts[f"{which} pointwise"]
        new[f"{which} pointwise"] = pointwise.fused(left, FUSION_UNSURE)
        casts = state.parts[f"{which} casts"]
        kept = known.moving(LINEAR_CASTS / 2 * _weights(known), casts.calls / 2, COARSE)
        new[f"{which} casts"] = kept if kept.ms < casts.ms else casts
        if state.attention != "sdpa":
            mode = state.mode
            softmax = known.pieces["softmax", mode, which]
            scale = known.case.layers * state.batches
            chain = softmax.times(scale, 0.1, known.case.layers)
            new[f"{which} core"] = state.parts[f"{which} core"].with_fused(
                chain, 0.5, FUSION_UNSURE
            )
    return state.changed(new)


def double(known: Known, state: State) -> State:
    """A batch twice as large: the optimizer, the casts of weights and the launches stay."""
    new: Parts = {}
    for which in ("forward", "backward"):
        for kind in KINDS:
            part = state.parts[f"{which} {kind}"]
            kept = NOTHING
            if kind == "casts":
                kept = known.moving(LINEAR_CASTS / 2 * _weights(known), 0, COARSE)
                kept = kept if kept.ms < part.ms else part
            twice = NOTHING if kept is part else part.without(kept).times(2, 0.1)
            new[f"{which} {kind}"] = replace(twice + replace(kept, calls=0), calls=part.calls)
    return state.changed(new, batches=2 * state.batches)


EFFECTS: dict[str, Callable[[Known, State], State]] = {
    "fused_softmax": attend("fused_softmax"),
    "triton_softmax": attend("triton_softmax"),
    "sdpa": attend("sdpa"),
    "foreach": optimize("foreach"),
    "fused": optimize("fused"),
    "bf16": autocast,
    "bf16_weights": bf16_weights,
    "graph": graph,
    "compile": compiled,
    "batch_x2": double,
}
"""By remedy, from the work before it to the work after it."""
