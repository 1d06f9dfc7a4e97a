"""The faults: each makes a loop of a size, with one thing wrong."""

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchmarks.planted.loop import (
    DEVICE,
    DEVICE_BOUND,
    HOST,
    Attention,
    Decoder,
    FeedForward,
    Loop,
    Size,
    changed,
    clean_loop,
    cross_entropy,
    marked,
)


@dataclass(frozen=True)
class Fault:
    """One fault: the size of its loop, and what makes the loop; `end` stops what it began."""

    name: str
    size: Size
    make: Callable[[Size], Loop]
    end: Callable[[], None] = lambda: None


def spin(seconds: float) -> None:
    """Compute on the host for a while, without letting other threads go on."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def item(size: Size) -> Loop:
    """The loss is fetched for each micro batch."""
    return changed(clean_loop(size), after_backward=lambda loop, loss: loss.item())


def synchronize(size: Size) -> Loop:
    """Each block waits for the device, as somebody does who times blocks."""
    loop = clean_loop(size)
    for block in loop.model.blocks:  # type: ignore[union-attr]
        block.register_forward_hook(lambda *_: torch.cuda.synchronize())
    return loop


def norm_of_each_parameter(size: Size) -> Loop:
    """The norm of each gradient is fetched by itself."""

    def norms(loop: Loop, number: int) -> None:
        for parameter in loop.model.parameters():
            parameter.grad.norm().item()  # type: ignore[union-attr]

    return changed(clean_loop(size), after_step=norms)


def scalars_of_the_host(size: Size) -> Loop:
    """Each block makes a number on the host and sends it to the device."""
    loop = clean_loop(size)
    for block in loop.model.blocks:  # type: ignore[union-attr]
        block.register_forward_hook(
            lambda module, inputs, output: output * torch.tensor(1.0, device=DEVICE)
        )
    return loop


def python_in_a_layer(size: Size) -> Loop:
    """One block computes something in Python."""
    loop = clean_loop(size)
    loop.model.blocks[2].feed_forward.register_forward_hook(lambda *_: spin(0.002))  # type: ignore
    return loop


_stop = threading.Event()


def busy_thread(size: Size) -> Loop:
    """Another thread of Python computes every other half millisecond."""

    def compute() -> None:
        while not _stop.is_set():
            spin(0.0005)
            time.sleep(0.0005)

    _stop.clear()
    threading.Thread(target=compute, daemon=True).start()
    return clean_loop(size)


def garbage_collection(size: Size) -> Loop:
    """Every second step collects garbage among many objects."""
    kept = [{"number": n, "more": [n]} for n in range(400_000)]

    def collect(loop: Loop, number: int) -> None:
        if number % 2 and kept:
            gc.collect()

    return changed(clean_loop(size), after_step=collect)


def parameter_by_parameter(size: Size) -> Loop:
    """AdamW updates each parameter by itself."""
    loop = clean_loop(size)
    return changed(loop, optimizer=torch.optim.AdamW(loop.model.parameters(), foreach=False))


def empty_cache(size: Size) -> Loop:
    """Each step gives the allocator's memory back."""
    return changed(clean_loop(size), after_step=lambda *_: torch.cuda.empty_cache())


def checks_for_nan(size: Size) -> Loop:
    """Each module's output is looked at."""
    loop = clean_loop(size)

    def check(module: nn.Module, inputs: Any, output: Tensor) -> None:
        if not torch.isfinite(output).all():
            raise ValueError("not finite")

    for module in loop.model.modules():
        if isinstance(module, nn.Linear | nn.RMSNorm):
            module.register_forward_hook(check)
    return loop


def slow_loader(size: Size) -> Loop:
    """The host computes before it has a batch."""
    loop = clean_loop(size)
    seconds = 0.03 if size.width > HOST.width else 0.008

    def slow() -> tuple[Tensor, Tensor]:
        spin(seconds / size.micro_batches)
        return loop.batch()

    return changed(loop, batch=slow)


def forward_twice(size: Size) -> Loop:
    """The forward pass runs twice, the first time for nothing."""

    def twice(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.no_grad():
            cross_entropy(model, inputs, targets)
        return cross_entropy(model, inputs, targets)

    return changed(clean_loop(size), loss=twice)


def evaluation_with_gradients(size: Size) -> Loop:
    """Each step evaluates, and records what backward would need."""
    loop = clean_loop(size)

    def evaluate(loop: Loop, number: int) -> None:
        with marked("evaluation"):
            cross_entropy(loop.model, *loop.batch())

    return changed(loop, after_step=evaluate)


def mask_by_index(size: Size) -> Loop:
    """Targets are chosen by a boolean index, whose size the host has to wait for."""

    def masked(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            logits = model(inputs)
        with marked("loss"):
            kept = targets != 0
            return functional.cross_entropy(logits[kept].float(), targets[kept])

    return changed(clean_loop(size), loss=masked)


def odd_vocabulary(size: Size) -> Loop:
    """A vocabulary that is no multiple of 8."""
    return clean_loop(replace(size, vocabulary=size.vocabulary - 13))


def _host_batch(size: Size, pinned: bool, overlapped: bool) -> Loop:
    """A batch with features of 128 MiB that come from the host."""
    loop = clean_loop(size)
    features = torch.randn(2**25 if DEVICE.type == "cuda" else 2**10)
    features = features.pin_memory() if pinned and DEVICE.type == "cuda" else features

    def sent() -> tuple[Tensor, Tensor]:
        features.to(DEVICE, non_blocking=pinned and overlapped)
        return loop.batch()

    return changed(loop, batch=sent)


def pageable_batch(size: Size) -> Loop:
    """The batch comes from memory that isn't pinned."""
    return _host_batch(size, pinned=False, overlapped=False)


def copy_that_nothing_overlaps(size: Size) -> Loop:
    """The batch comes from pinned memory, on the stream that computes."""
    return _host_batch(size, pinned=True, overlapped=True)


def attention_written_out(size: Size) -> Loop:
    """Attention by products and a softmax."""

    def mix(self: Attention, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        context = query.shape[-2]
        mask = torch.ones(context, context, dtype=torch.bool, device=query.device).tril()
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        shares: Tensor = scores.masked_fill(~mask, float("-inf")).softmax(-1).to(value.dtype)
        return shares @ value

    return _with(size, Attention, "mix", mix)


def elementwise_chain(size: Size) -> Loop:
    """The activation by many small operations."""

    def gated(self: FeedForward, gate: Tensor, value: Tensor) -> Tensor:
        inner = 0.7978845608 * (gate + 0.044715 * gate * gate * gate)
        return 0.5 * gate * (1.0 + torch.tanh(inner)) * value * 1.0 + 0.0

    return _with(size, FeedForward, "gated", gated)


def needless_copies(size: Size) -> Loop:
    """Tensors are laid out anew without need."""

    def mix(self: Attention, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query, key, value = (
            each.transpose(1, 2).contiguous().transpose(1, 2).contiguous()
            for each in (query, key, value)
        )
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)

    return _with(size, Attention, "mix", mix)


def _with(size: Size, kind: type[nn.Module], name: str, replacement: Callable[..., Tensor]) -> Loop:
    loop = clean_loop(size)
    for module in loop.model.modules():
        if isinstance(module, kind):
            setattr(module, name, replacement.__get__(module))
    return loop


def float32_head(size: Size) -> Loop:
    """The last product in float32."""

    def head(self: nn.Linear, hidden: Tensor) -> Tensor:
        with torch.autocast(DEVICE.type, enabled=False):
            return functional.linear(hidden.float(), self.weight)

    loop = clean_loop(size)
    last = loop.model.head
    last.forward = head.__get__(last)  # type: ignore
    return loop


def float64_in_a_layer(size: Size) -> Loop:
    """One feed-forward's activation in float64."""

    def gated(self: FeedForward, gate: Tensor, value: Tensor) -> Tensor:
        wide = gate.double()
        return (wide * torch.sigmoid(wide) * value.double()).to(value.dtype)

    loop = clean_loop(size)
    layer = loop.model.blocks[1].feed_forward  # type: ignore[index, union-attr]
    layer.gated = gated.__get__(layer)
    return loop


def casts_of_weights(size: Size) -> Loop:
    """Weights are cast for each use of them in small micro batches."""

    def uncached(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast(DEVICE.type, torch.bfloat16, cache_enabled=False):
            logits = model(inputs)
        with marked("loss"):
            return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    return changed(clean_loop(size), loss=uncached)


def recomputation(size: Size) -> Loop:
    """Blocks are computed again in backward though memory is free."""

    def run(self: Decoder, block: nn.Module, hidden: Tensor) -> Tensor:
        again: Tensor = checkpoint(block, hidden, use_reentrant=False)
        return again

    return _with(size, Decoder, "run", run)


def save_that_blocks(size: Size) -> Loop:
    """One step of four copies all weights to the host."""

    def save(loop: Loop, number: int) -> None:
        if number % 4 == 2:
            with marked("save"):
                {name: tensor.cpu() for name, tensor in loop.model.state_dict().items()}

    return changed(clean_loop(size), after_step=save)


def gradients_filled_with_zeros(size: Size) -> Loop:
    """Gradients are set to zero instead of forgotten."""
    loop = clean_loop(size)
    return changed(loop, zero_grad=lambda loop: loop.optimizer.zero_grad(set_to_none=False))


def stop() -> None:
    """End the busy thread."""
    _stop.set()
    time.sleep(0.05)


ON_HOST = (
    item, synchronize, norm_of_each_parameter, scalars_of_the_host, python_in_a_layer,
    garbage_collection, parameter_by_parameter, empty_cache, checks_for_nan, slow_loader,
    forward_twice, mask_by_index, odd_vocabulary, float32_head,
)  # fmt: skip
ON_DEVICE = (
    pageable_batch, copy_that_nothing_overlaps, attention_written_out, elementwise_chain,
    needless_copies, float32_head, float64_in_a_layer, recomputation,
    save_that_blocks, gradients_filled_with_zeros, forward_twice, evaluation_with_gradients,
    odd_vocabulary, slow_loader, item,
)  # fmt: skip

SMALL_BATCHES = replace(DEVICE_BOUND, batch=2, micro_batches=8)
"""Little work for each use of the weights, and still more than launching it takes."""

FAULTS = [
    *(Fault(f"{make.__name__}-host", HOST, make) for make in ON_HOST),
    Fault("busy_thread-host", HOST, busy_thread, stop),
    *(Fault(f"{make.__name__}-device", DEVICE_BOUND, make) for make in ON_DEVICE),
    Fault("casts_of_weights-device", SMALL_BATCHES, casts_of_weights),
]
