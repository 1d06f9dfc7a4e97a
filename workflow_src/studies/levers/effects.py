"""What each remedy does to a step's work, predicted from the plain variant alone.

Uncertainties are relative, standard, and come from what a rule leaves out, not from results.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from workflow_src.model.flops import fused_softmax_bytes
from workflow_src.studies.levers.known import KINDS, NOTHING, Known, Part, Parts

FUSED_BYTES = 28
"""Per parameter: AdamW reads weight, gradient and two moments, and writes all but the gradient."""

FOREACH_BYTES = 80
"""Per parameter: 8 elementwise passes of torch's foreach AdamW, over two to four tensors each."""

ELEMENTS_AT_ONCE = 320 * 65_536
"""What one launch of a multi-tensor kernel takes: 320 blocks of 65,536 elements (PyTorch's
ATen/native/cuda/MultiTensorApply.cuh)."""

PASSES_UNSURE = 0.15
"""A kernel that moves known bytes seldom runs at a copy's rate exactly."""

PRODUCTS_UNSURE = 0.15
"""Products of other shapes gain more or less than the one measured."""

FUSION_UNSURE = 0.35
"""A compiler fuses more or less than whole chains, and its kernels are seldom at a copy's rate."""

STREAM_HALVES = 0.75
"""Of elementwise work in float32, what is left with bf16 weights: the residual stream is half as
wide, the norms still compute in float32."""

COARSE = 0.2
"""Of a factor that was only counted from the model's tensors."""

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

STREAM_CASTS_UNSURE = 0.5
"""How many casts backward makes is not derived: twice forward's are assumed."""

LINEAR_CASTS = 12
"""Bytes per weight of a linear layer: cast to bf16 in forward, its gradient cast back."""


@dataclass(frozen=True)
class State:
    """A variant's predicted work, what it runs with, and why."""

    parts: Parts
    mode: str
    attention: str = "naive"
    optimizer: str = "adamw"
    graph: bool = False
    batches: int = 1
    why: tuple[str, ...] = ()

    def changed(self, parts: Parts, why: str, **other: object) -> "State":
        """With some parts replaced, and a reason more."""
        new = {"parts": self.parts | parts, "why": (*self.why, why)} | other
        return replace(self, **new)  # type: ignore[arg-type]


def _shown(ms: float) -> str:
    return f"{ms:.3g} ms"


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
        before = sum(state.parts[name].ms for name in new)
        after = sum(part.ms for part in new.values())
        what = "sdpa" if attention == "sdpa" else "one kernel for softmax"
        why = f"{what} takes attention's core from {_shown(before)} to {_shown(after)}"
        return state.changed(new, why, attention=attention)

    return effect


def optimize(optimizer: str) -> Callable[[Known, State], State]:
    """Another implementation of AdamW."""

    def effect(known: Known, state: State) -> State:
        narrow = 0.5 if state.mode == "bf16_weights" else 1.0
        each = FUSED_BYTES if optimizer == "fused" else FOREACH_BYTES
        passes = 1 if optimizer == "fused" else 8
        launches = passes * max(1.0, known.parameters / ELEMENTS_AT_ONCE) * known.optimizer_price
        new = known.moving(each * narrow * known.parameters, launches, PASSES_UNSURE)
        before = state.parts["optimizer"].ms
        why = f"{each * narrow:g} bytes per parameter: {_shown(before)} become {_shown(new.ms)}"
        return state.changed({"optimizer": new}, why, optimizer=optimizer)

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
    casts = new["forward casts"].ms + new["backward casts"].ms
    why = f"products take {_narrower(known):.3g} times as long in bf16, casts add {_shown(casts)}"
    return state.changed(new, why, mode="bf16")


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
    new, why = _cores(known, state, state.attention, "bf16_weights"), ""
    if state.mode == "fp32":
        new |= _products(known, state)
        why = f"products take {_narrower(known):.3g} times as long in bf16, "
    for which in ("forward", "backward"):
        new[f"{which} casts"] = _stream_casts(known, state, which)
        new[f"{which} pointwise"] = state.parts[f"{which} pointwise"].times(STREAM_HALVES, COARSE)
    new["optimizer"] = state.parts["optimizer"].times(0.5, PASSES_UNSURE)
    before, after = (
        sum(parts[f"{which} casts"].ms for which in ("forward", "backward"))
        for parts in (state.parts, new)
    )
    why += (
        f"casts take {_shown(after)} for {_shown(before)}, and the optimizer moves half the bytes"
    )
    return state.changed(new, why, mode="bf16_weights")


def graph(known: Known, state: State) -> State:
    """Replayed as a CUDA graph: what is left of launching is a short gap between kernels."""
    whole = state.optimizer != "adamw"
    why = "a graph leaves the device's busy time" + (
        "" if whole else " and the optimizer's launches"
    )
    return state.changed({}, why, graph=True)


def compiled(known: Known, state: State) -> State:
    """Chains of elementwise kernels become one, which reads first and writes last."""
    new: Parts = {}
    left = 1 / known.chain
    for which in ("forward", "backward"):
        pointwise = state.parts[f"{which} pointwise"]
        new[f"{which} pointwise"] = _fused(pointwise, left)
        casts = state.parts[f"{which} casts"]
        kept = known.moving(LINEAR_CASTS / 2 * _weights(known), casts.calls / 2, COARSE)
        new[f"{which} casts"] = kept if kept.ms < casts.ms else casts
        if state.attention != "sdpa":
            mode = state.mode
            softmax = known.pieces["softmax", mode, which]
            scale = known.case.layers * state.batches
            chain = softmax.times(scale, 0.1, known.case.layers)
            new[f"{which} core"] = _fused_within(state.parts[f"{which} core"], chain, 0.5)
    before = sum(state.parts[name].ms for name in new)
    after = sum(part.ms for part in new.values())
    why = (
        f"chains of {known.chain:.2g} elementwise kernels become one each: {_shown(before)} "
        f"become {_shown(after)}"
    )
    return state.changed(new, why)


def _fused(part: Part, left: float) -> Part:
    """A chain as one kernel: unsure by a share of what goes away."""
    sd = ((part.sd * left) ** 2 + (part.ms * (1 - left) * FUSION_UNSURE) ** 2) ** 0.5
    return Part(part.ms * left, sd, part.calls * left)


def _fused_within(part: Part, chain: Part, left: float) -> Part:
    """A part in which a chain becomes one kernel."""
    saved = chain.ms * (1 - left)
    sd = (part.sd**2 + (saved * FUSION_UNSURE) ** 2) ** 0.5
    return Part(max(0.0, part.ms - saved), sd, max(0.0, part.calls - chain.calls * (1 - left)))


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
    why = "twice the work by tokens for the same launches and the same optimizer, per token"
    return state.changed(new, why, batches=2 * state.batches)


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
