"""What the plain point measures beside itself: the rates and times that predictions rest on."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.cuda_graph import NotCapturableError, graphed
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.precision import AUTOCAST, use_precision
from workflow_src.measure.progress import said
from workflow_src.measure.timing import Call, time_call, time_steps
from workflow_src.measure.workload import Workload
from workflow_src.model.attention import attention_core, written_out_softmax
from workflow_src.studies.study import Point, Row

CHAIN = 200
"""Kernels in the chain that tells the time between two of a CUDA graph: so many that the graph's
own start, some 5 us, hardly counts."""

SHORT_CONTEXT = 16
"""Tokens of the batch whose steps are so short that launching them takes all the time."""

MODES = {"fp32": ("fp32", "bf16", "bf16_weights"), "bf16": ("bf16", "bf16_weights")}
"""How the pieces of a case of each precision run, now or with a remedy."""


def ceilings(case: Case, point: Point) -> Iterator[Row]:
    """A row each of kind "ceiling": a copy, products, pieces of attention, gaps and launching."""
    use_precision("fp32")
    yield _row(point, {"name": "copy"}, partial(copying, point))
    for mode in dict.fromkeys((case.precision, "bf16")):
        yield _row(point, {"name": f"product {mode}"}, partial(product, case, mode))
    for mode in MODES[case.precision]:
        for piece in ("naive", "sdpa", "softmax"):
            for phase in ("forward", "forward_backward"):
                make = partial(attention_piece, case, piece, mode, phase == "forward")
                about = {"name": f"{piece} {mode}", "phase": phase}
                yield _row(point, about, make, profiled=True)
    if point["device"] == "cuda":
        yield _row(point, {"name": "gaps"}, partial(short_kernels, case), profiled=True)
    yield _launching(case, point)


def _row(point: Point, about: Row, make: Callable[[], Call], profiled: bool = False) -> Row:
    device = point["device"]

    def timed() -> Row:
        call = make()
        found = {"activities": activities_of(call, device)} if profiled else {}
        samples = time_call(
            _replayed(call, device), device, point["warmup_steps"], point["ceiling_steps"]
        )
        return found | {"samples_ns": samples}

    row = attempt(timed, partial(free, device))
    said(" ".join(about.values()), row)
    return {"measurement": "ceiling"} | about | row


def _replayed(call: Call, device: str) -> Call:
    """The call as a CUDA graph where it can be one, so that its launches take no time."""
    if device != "cuda":
        return call
    with contextlib.suppress(NotCapturableError):
        return graphed(call)
    return call


def copying(point: Point) -> Call:
    """A call that reads a float32 vector and writes another, as elementwise kernels do.

    Not copy_: replayed as a CUDA graph it reached two thirds of its rate outside of one (H200).
    """
    source = torch.randn(point["copy_elements"], device=point["device"])
    target = torch.empty_like(source)
    return lambda: torch.mul(source, 2.0, out=target)


def product(case: Case, mode: str) -> Call:
    """A call that multiplies as the feed-forward layer does, in the type of a mode."""
    dtype, tokens = AUTOCAST.get(mode, torch.float32), case.batch * case.context
    a = torch.randn(tokens, case.d_model, device=case.device, dtype=dtype)
    b = torch.randn(case.d_model, case.d_ff, device=case.device, dtype=dtype)
    return lambda: a @ b


def short_kernels(case: Case) -> Call:
    """A call that runs CHAIN elementwise kernels on the residual stream, one after another."""
    stream = torch.zeros(case.batch, case.context, case.d_model, device=case.device)

    def run() -> None:
        for _ in range(CHAIN):
            stream.add_(1.0)

    return run


def attention_piece(case: Case, piece: str, mode: str, forward: bool) -> Call:
    """A call of one block's attention core, or softmax alone, with backward unless `forward`."""
    core, shapes = _core(case, piece)
    dtype = torch.float32 if mode == "fp32" else torch.bfloat16
    inputs = [torch.randn(shape, device=case.device, dtype=dtype) for shape in shapes]
    leaves = [tensor.requires_grad_(not forward) for tensor in inputs]

    def run() -> Tensor:
        cast = torch.autocast(case.device, torch.bfloat16) if mode == "bf16" else None
        with cast or contextlib.nullcontext():
            result: Tensor = core(*leaves)
        return result

    if forward:
        return run
    gradient = torch.randn_like(run())
    return lambda: torch.autograd.grad(run(), leaves, gradient)


def _core(case: Case, piece: str) -> tuple[Callable[..., Tensor], list[tuple[int, ...]]]:
    """The function called `piece`, and the shapes of its inputs in one block of the case."""
    heads = (case.batch, case.heads, case.context)
    if piece == "softmax":
        return written_out_softmax, [(*heads, case.context)]
    with torch.device(case.device):
        core: nn.Module = attention_core(piece, case.context)
    return core, [(*heads, case.d_head)] * 3


def _launching(case: Case, point: Point) -> Row:
    """The wall time of the same model on a batch that leaves the device idle."""
    device, phase = case.device, "forward_backward"

    def timed() -> Row:
        short = replace(case, batch=1, context=min(SHORT_CONTEXT, case.context))
        workload = Workload(short)
        step = workload.phase(phase)
        for _ in range(max(1, point["warmup_steps"])):
            step()
        return {"samples_ns": time_steps(step, workload.synchronize, point["steps"])}

    row = attempt(timed, partial(free, device))
    return {"measurement": "ceiling", "name": "launching", "phase": phase} | said(
        f"launching {phase}", row
    )
