"""The host computes, is kept from running, or launches for each parameter by itself."""

import json
import threading
import time

import torch
from torch import Tensor

from benchmarks.blind.faults.registry import Place, fault
from benchmarks.blind.models import Model
from benchmarks.blind.program import Program
from benchmarks.planted.loop import marked


def _parse(milliseconds: float) -> None:
    """Parse text on the host, for about so long."""
    text = json.dumps([{"id": n, "score": n / 7} for n in range(40)])
    until = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < until:
        json.loads(text)


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
