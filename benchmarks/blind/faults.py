"""The faults: each changes one part of a program, in another form than benchmarks/planted does.

place: the layers that those in layers are put into. cost: milliseconds that those of the host take,
so that they are seen beside the program's own step.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.blind.models import Model
from benchmarks.blind.program import Program
from benchmarks.planted.loop import DEVICE, marked

Place = Sequence[int]
Fault = Callable[[Program, Place, float], None]

FAULTS: dict[str, Fault] = {}
"""By the key of the mechanism that names it (docs/findings.md)."""

ON_CUDA = DEVICE.type == "cuda"
FEATURES = 2**24 if ON_CUDA else 2**8
"""Numbers that a batch brings along, of 4 bytes."""


def fault(key: str) -> Callable[[Fault], Fault]:
    """Put a function into FAULTS."""

    def put(function: Fault) -> Fault:
        FAULTS[key] = function
        return function

    return put


def _parse(milliseconds: float) -> None:
    """Parse text on the host, for about so long."""
    text = json.dumps([{"id": n, "score": n / 7} for n in range(40)])
    until = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < until:
        json.loads(text)


@fault("item")
def early_stopping(program: Program, place: Place, cost: float) -> None:
    """The loss is compared with the best one."""
    best = [math.inf]
    program.besides(1, lambda number, loss: best.append(min(best.pop(), float(loss))))


@fault("synchronize")
def timed_layers(program: Program, place: Place, cost: float) -> None:
    """Layers are timed with a wait for the stream."""

    def wait(made: Tensor) -> Tensor:
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()
        return made

    program.after_layers(place, wait)


@fault("selection")
def rows_by_mask(program: Program, place: Place, cost: float) -> None:
    """Only rows that aren't zero are scaled."""

    def scale(made: Tensor) -> Tensor:
        rows = made.flatten(1).detach().abs().sum(1).nonzero()[:, 0]
        return made.index_copy(0, rows, made[rows] * 0.99)

    program.after_layers(place, scale)


@fault("number_of_each_tensor")
def logged_weights(program: Program, place: Place, cost: float) -> None:
    """The mean size of each weight is logged."""
    logged: dict[str, float] = {}

    def log(number: int, loss: Tensor) -> None:
        for name, weight in program.model.named_parameters():
            logged[name] = weight.detach().abs().mean().item()

    program.besides(3, log)


@fault("host_scalars")
def scheduled_scale(program: Program, place: Place, cost: float) -> None:
    """Several factors are made on the host in each layer."""

    def scale(made: Tensor) -> Tensor:
        for factor in (1.01, 0.99, 1.0):
            made = made * torch.as_tensor(factor, dtype=made.dtype).to(made.device)
        return made

    program.after_layers(range(len(program.model.layers)), scale)


def _with_features(program: Program, pinned: bool) -> None:
    features, batch = torch.rand(FEATURES), program.batch
    features = features.pin_memory() if pinned and ON_CUDA else features

    def fetched() -> Tensor:
        features.to(DEVICE, non_blocking=pinned)
        return batch()

    program.batch = fetched


@fault("pageable_batch")
def features_of_the_host(program: Program, place: Place, cost: float) -> None:
    """A batch brings features from ordinary memory."""
    _with_features(program, pinned=False)


@fault("unhidden_copy")
def pinned_features(program: Program, place: Place, cost: float) -> None:
    """The same from pinned memory, on the stream that computes."""
    _with_features(program, pinned=True)


@fault("data_to_host")
def kept_outputs(program: Program, place: Place, cost: float) -> None:
    """A layer's output goes to the host in each step."""
    kept: list[Tensor] = []

    def keep(made: Tensor) -> Tensor:
        kept[:] = [made.detach().float().cpu()]
        return made

    program.after_layers(place[:1], keep)


@fault("blocking_save")
def saved_moments(program: Program, place: Place, cost: float) -> None:
    """Every third step copies the optimizer's state to the host."""

    def save(number: int, loss: Tensor) -> None:
        if number % 3 == 1:
            for state in program.optimizer.state.values():
                [each.cpu() for each in state.values() if isinstance(each, Tensor)]

    program.besides(3, save)


@fault("slow_loader")
def parsed_batch(program: Program, place: Place, cost: float) -> None:
    """The batch is parsed when it is asked for."""
    batch = program.batch

    def parsed() -> Tensor:
        _parse(cost)
        return batch()

    program.batch = parsed


@fault("host_gap")
def statistics_of_a_log(program: Program, place: Place, cost: float) -> None:
    """A log is evaluated after backward."""
    program.besides(2, lambda number, loss: _parse(cost))


@fault("python_in_a_layer")
def table_in_python(program: Program, place: Place, cost: float) -> None:
    """One layer parses something."""

    def parsed(made: Tensor) -> Tensor:
        _parse(cost)
        return made

    program.after_layers(place[:1], parsed)


@fault("stall")
def flushed_log(program: Program, place: Place, cost: float) -> None:
    """Every third step writes out a long log."""
    program.besides(3, lambda number, loss: _parse(3 * cost) if number % 3 == 1 else None)


@fault("other_thread")
def parsing_thread(program: Program, place: Place, cost: float) -> None:
    """Another thread parses, with short pauses."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            _parse(2.0)
            time.sleep(0.001)

    def begin() -> None:
        stop.clear()
        threading.Thread(target=work, daemon=True).start()

    program.begins.append(begin)
    program.ends.append(stop.set)


@fault("parameter_by_parameter")
def average_of_weights(program: Program, place: Place, cost: float) -> None:
    """An average of the weights is updated one by one."""
    average = [weight.detach().clone() for weight in program.model.parameters()]

    def update(number: int, loss: Tensor) -> None:
        with marked("average"):
            for mean, weight in zip(average, program.model.parameters(), strict=True):
                mean.mul_(0.999).add_(weight.detach(), alpha=0.001)

    program.besides(3, update)


@fault("zero_fills")
def gradients_set_to_zero(program: Program, place: Place, cost: float) -> None:
    """Each gradient is set to zero by itself."""

    def clear(model: Model) -> None:
        for weight in model.parameters():
            if weight.grad is not None:
                weight.grad.zero_()

    program.clear = clear


@fault("empty_cache")
def cache_given_back(program: Program, place: Place, cost: float) -> None:
    """Memory is given back after backward."""
    program.besides(2, lambda number, loss: torch.cuda.empty_cache())


@fault("debug_checks")
def checked_gradients(program: Program, place: Place, cost: float) -> None:
    """Each gradient is looked at for NaN."""

    def check(number: int, loss: Tensor) -> None:
        for weight in program.model.parameters():
            if weight.grad is not None and torch.isnan(weight.grad).any():
                raise ValueError("a gradient is NaN")

    program.besides(2, check)


@fault("forward_twice")
def logits_for_accuracy(program: Program, place: Place, cost: float) -> None:
    """Logits are computed once more for a metric."""
    run = program.run

    def twice(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            run(inputs).argmax(-1)
        return run(inputs)

    program.run = twice


@fault("evaluation")
def validation_in_each_step(program: Program, place: Place, cost: float) -> None:
    """Each step runs a validation batch, with gradients."""

    def validate(number: int, loss: Tensor) -> None:
        with marked("validation"), torch.autocast(DEVICE.type, torch.bfloat16):
            program.run(program.batch())

    program.besides(3, validate)


@fault("recomputation")
def reentrant_checkpoints(program: Program, place: Place, cost: float) -> None:
    """Layers are computed again in backward."""

    def again(forward: Callable[..., Any]) -> Callable[..., Any]:
        return lambda hidden: checkpoint(forward, hidden, use_reentrant=True)

    for layer in program.model.layers:
        layer.forward = again(layer.forward)


@fault("attention_written_out")
def attention_by_einsum(program: Program, place: Place, cost: float) -> None:
    """Attention by einsum, with a mask that is added."""

    def mix(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key).float() * query.shape[-1] ** -0.5
        if is_causal:
            scores = scores + torch.full_like(scores[0, 0], -1e4).triu(1)
        return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1).to(value.dtype), value)

    for attention in program.attentions:
        attention.mix = mix


@fault("elementwise_chain")
def normalized_by_hand(program: Program, place: Place, cost: float) -> None:
    """Each layer's output is normalized and squashed by single operators."""

    def squash(made: Tensor) -> Tensor:
        centered = made - 0.01
        scaled = centered * 0.9 + centered.square() * 1e-4
        return (scaled.tanh() * 0.5 + made * 0.5 + 1e-3).clamp(-50.0, 50.0)

    program.after_layers(range(len(program.model.layers)), squash)


@contextmanager
def _slow_products() -> Any:
    with torch.autocast(DEVICE.type, enabled=False):
        yield


@fault("float32_products")
def layers_without_autocast(program: Program, place: Place, cost: float) -> None:
    """Half of the layers run without autocast."""

    def wide(forward: Callable[..., Any]) -> Callable[..., Any]:
        def run(hidden: Tensor) -> Any:
            with _slow_products():
                return forward(hidden.float())

        return run

    for layer in list(program.model.layers)[::2]:
        layer.forward = wide(layer.forward)


@fault("float64")
def table_of_doubles(program: Program, place: Place, cost: float) -> None:
    """A factor of each feature is a double."""

    def scale(made: Tensor) -> Tensor:
        factor = torch.ones(made.shape[-1], dtype=torch.float64, device=made.device)
        return (made * factor).to(made.dtype)

    program.after_layers(range(len(program.model.layers)), scale)


@fault("unaligned_products")
def odd_classes(program: Program, place: Place, cost: float) -> None:
    """The head has a number of classes that is no multiple of 8."""
    head = program.model.head if isinstance(program.model.head, nn.Linear) else None
    inner = head or program.model.head[-1]
    odd = nn.Linear(
        inner.in_features, 32 * inner.out_features - 3 if ON_CUDA else 509, device=DEVICE
    )
    program.optimizer.add_param_group({"params": list(odd.parameters())})
    if head is not None:
        program.model.head = odd
    else:
        program.model.head[-1] = odd


@fault("layer_copies")
def copies_in_one_layer(program: Program, place: Place, cost: float) -> None:
    """One layer lays its output out anew, several times."""

    def copied(made: Tensor) -> Tensor:
        for _ in range(6):
            made = made.transpose(1, -1).contiguous().transpose(1, -1).contiguous()
        return made

    program.after_layers(place[:1], copied)


@fault("convolution_layout")
def channels_first(program: Program, place: Place, cost: float) -> None:
    """Images and weights lie channel by channel."""
    program.model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    images = program.batch().contiguous()
    program.batch = lambda: images


@fault("bias_before_batch_norm")
def convolutions_with_bias(program: Program, place: Place, cost: float) -> None:
    """Convolutions before batch norm have a bias."""
    for layer in program.model.layers.modules():
        if isinstance(layer, nn.Conv2d):
            layer.bias = nn.Parameter(torch.zeros(layer.out_channels, device=DEVICE))
            program.optimizer.add_param_group({"params": [layer.bias]})


def suits(key: str, kind: str) -> bool:
    """Whether a kind of model can have a fault."""
    if key == "attention_written_out":
        return kind in ("decoder", "encoder", "gated", "patches")
    if key == "bias_before_batch_norm":
        return kind == "residual"
    if key == "convolution_layout":
        return kind in ("residual", "denoiser")
    return True
