"""Small captures of training steps whose threads are known: what launched what, by construction.

record_threads.sh records all SCENARIOS by nsys and by torch.profiler, on two GPUs. True of each:

- All work of a trainer lies in or below its `step`, on whichever thread autograd launches it; a
  step's parts are forward, loss, backward and optimizer.
- Only hooks call sin, in `gradient.N` or `accumulated NAME` below backward. Only block N opens
  `block.N`, in forward, and below backward where the scenario runs the forward pass again.
- Only the trainer `silu` calls silu, in its own steps; all others call gelu.
- Only a loader copies from the host to a device, in `load`, which lies in no step.

With --single, autograd launches from the thread that called backward: the oracle for all else.
"""

import argparse
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import checkpoint

WIDTH, BLOCKS, BATCH = 256, 3, 64
WARMUP, STEPS = 4, 3
RANK = int(os.environ.get("LOCAL_RANK", 0))
Step = Callable[[], None]


class Ranges:
    """How ranges are pushed: for nsys, which sees only NVTX, or for torch.profiler."""

    nvtx = False


@contextmanager
def range_(name: str) -> Iterator[None]:
    """A range of this thread."""
    if not Ranges.nvtx:
        with record_function(name):
            yield
        return
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


class Block(nn.Module):
    """A residual block with a range of its own, and one in a hook of its output's gradient."""

    def __init__(self, number: int, activation: str):
        super().__init__()
        self.number, self.activation = number, activation
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """x: (BATCH, WIDTH); the result as well."""
        with range_(f"block.{self.number}"):
            hidden = getattr(functional, self.activation)(self.up(x))
            y: Tensor = x + self.down(hidden)
        if y.requires_grad:
            y.register_hook(self.mark)
        return y

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # Dynamo would leave the range out.
    def mark(self, gradient: Tensor) -> Tensor:
        """Launch the one kernel whose name tells that it is a gradient hook's."""
        with range_(f"gradient.{self.number}"):
            return gradient.sin()


class Model(nn.Module):
    """Blocks, each called by `call`: as it is, or recomputed."""

    def __init__(self, activation: str = "gelu", call: Callable[..., Tensor] | None = None):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.ModuleList(Block(number, activation) for number in range(BLOCKS))
        self.call = call or (lambda block, x: block(x))

    def forward(self, x: Tensor) -> Tensor:
        """x: (BATCH, WIDTH); the result as well."""
        x = self.first(x)
        for block in self.blocks:
            x = self.call(block, x)
        return x


class Inside(torch.autograd.Function):
    """A block whose backward runs the forward pass again, and calls backward inside of it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, block: Block) -> Tensor:
        """Run the block without a graph."""
        ctx.block = block
        ctx.save_for_backward(x)
        y: Tensor = block(x)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Give the gradient of x; those of the block's parameters are added up inside."""
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x)
        with range_("inside"):
            torch.autograd.backward(y, gradient)
        return x.grad, None


def training_step(model: nn.Module, device: torch.device, single: bool, **how: Any) -> Step:
    """A training step of `model`; `how` may give its `batch` and what surrounds `backward`."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    resident = torch.randn(BATCH, WIDTH, device=device)
    batch = how.get("batch", lambda: resident)
    around_backward = how.get("around_backward", nullcontext)

    def step() -> None:
        with range_("step"), torch.autograd.set_multithreading_enabled(not single):
            x = batch()
            with range_("forward"):
                y = model(x)
            with range_("loss"):
                loss = y.square().mean()
            with range_("backward"), around_backward():
                loss.backward()
            with range_("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
            synchronize(device)

    return step


def synchronize(device: torch.device) -> None:
    """Wait for all work of the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def plain(device: torch.device, single: bool) -> list[Step]:
    """One trainer, without anything else."""
    return [training_step(Model().to(device), device, single)]


def ddp_hooks(device: torch.device, single: bool) -> list[Step]:
    """DDP whose hooks of parameters and of communication push ranges, too."""
    model = Model().to(device)
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(mark_parameter(name))
    parallel = DistributedDataParallel(model, bucket_cap_mb=1)

    def communicate(state: None, bucket: Any) -> torch.futures.Future[Tensor]:
        with range_("communicate"):
            buffer = bucket.buffer().div_(dist.get_world_size())
            work = dist.all_reduce(buffer, async_op=True)
            reduced: torch.futures.Future[Tensor] = work.get_future().then(
                lambda future: future.value()[0]
            )
        return reduced

    parallel.register_comm_hook(None, communicate)
    return [training_step(parallel, device, single)]


def mark_parameter(name: str) -> Callable[[Tensor], None]:
    """A hook that opens a range `accumulated NAME`, and launches a kernel in it."""

    def hook(parameter: Tensor) -> None:
        with range_(f"accumulated {name}"):
            assert parameter.grad is not None
            parameter.grad.sin_()

    return hook


def fsdp1(device: torch.device, single: bool) -> list[Step]:
    """FullyShardedDataParallel, of each block and of all."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({Block})
    model = FullyShardedDataParallel(Model().to(device), auto_wrap_policy=policy, device_id=device)
    return [training_step(model, device, single)]


def fsdp2(device: torch.device, single: bool) -> list[Step]:
    """fully_shard, of each block and of all."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    model = Model().to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return [training_step(model, device, single)]


def checkpointed(reentrant: bool) -> Callable[[torch.device, bool], list[Step]]:
    """Activation checkpointing: backward runs each block's forward pass again."""

    def call(block: nn.Module, x: Tensor) -> Tensor:
        y: Tensor = checkpoint(block, x, use_reentrant=reentrant)
        return y

    return lambda device, single: [training_step(Model(call=call).to(device), device, single)]


def backward_inside(device: torch.device, single: bool) -> list[Step]:
    """An autograd.Function whose backward calls backward."""
    model = Model(call=lambda block, x: Inside.apply(x, block))  # type: ignore[no-untyped-call]
    return [training_step(model.to(device), device, single)]


def compiled_autograd(device: torch.device, single: bool) -> list[Step]:
    """Backward as one graph that dynamo traced; hooks are in it."""
    from torch._dynamo.compiled_autograd import _enable

    def around() -> Any:
        return _enable(torch.compile(backend="eager"), dynamic=False)

    return [training_step(Model().to(device), device, single, around_backward=around)]


def emit_nvtx(device: torch.device, single: bool) -> list[Step]:
    """torch's own ranges of each operator, forward and backward, in nsys."""
    (step,) = plain(device, single)

    def emitting() -> None:
        with torch.autograd.profiler.emit_nvtx():
            step()

    return [emitting]


def two_trainers(device: torch.device, single: bool) -> list[Step]:
    """Two threads, each with a model and a stream of its own; their kernels differ by name."""
    return [on_stream(device, Model(activation), single) for activation in ("gelu", "silu")]


def on_stream(device: torch.device, model: nn.Module, single: bool) -> Step:
    """A training step on a stream of its own."""
    step = training_step(model.to(device), device, single)
    stream = torch.cuda.Stream() if device.type == "cuda" else None

    def streamed() -> None:
        with torch.cuda.stream(stream):
            step()

    return streamed


def loader(device: torch.device) -> Step:
    """Copies batches to the device on a side stream, 4 a step, in ranges `load`."""
    pinned = torch.randn(BATCH, WIDTH, pin_memory=device.type == "cuda")
    stream = torch.cuda.Stream() if device.type == "cuda" else None

    def load() -> None:
        for _ in range(4):
            with range_("load"), torch.cuda.stream(stream):
                pinned.to(device, non_blocking=True, copy=True)
        synchronize(device)

    return load


def trainer_and_loader(device: torch.device, single: bool) -> list[Step]:
    """A trainer, and a loader beside it."""
    return [*plain(device, single), loader(device)]


def loader_and_trainer(device: torch.device, single: bool) -> list[Step]:
    """The same on each other's threads."""
    return [loader(device), *plain(device, single)]


# The first of the steps runs on the process's first thread, any others on threads of their own.
SCENARIOS: dict[str, Callable[[torch.device, bool], list[Step]]] = {
    "plain": plain,
    "ddp_hooks": ddp_hooks,
    "fsdp1": fsdp1,
    "fsdp2": fsdp2,
    "checkpoint": checkpointed(reentrant=False),
    "checkpoint_reentrant": checkpointed(reentrant=True),
    "backward_inside": backward_inside,
    "compiled_autograd": compiled_autograd,
    "emit_nvtx": emit_nvtx,
    "two_trainers": two_trainers,
    "loader_thread": trainer_and_loader,
    "not_first_thread": loader_and_trainer,
}


class NsysWindow:
    """Opens nsys's window after WARMUP steps, in all ranks at once, and closes it STEPS later."""

    def __init__(self) -> None:
        self.done = 0

    def step(self) -> None:
        """A step has ended."""
        self.done += 1
        if self.done == WARMUP:
            meet()
            torch.cuda.profiler.start()
            meet()
        elif self.done == WARMUP + STEPS:
            meet()
            torch.cuda.profiler.stop()


def meet() -> None:
    """Wait for the other ranks, without a device's work."""
    if dist.is_initialized():
        dist.all_reduce(torch.zeros(1))


def traced(output: Path, cuda: bool, all_threads: bool) -> profile:
    """A profiler that skips one step, then warms up, and then writes STEPS of them."""
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    return profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=WARMUP - 1, active=STEPS, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(output)),
        experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=all_threads),
    )


def run(steps: list[Step], window: NsysWindow | profile) -> None:
    """Run WARMUP and STEPS steps of each, one round of all at a time."""
    first, *others = steps
    barrier = threading.Barrier(len(steps), timeout=40)
    threads = [threading.Thread(target=rounds, args=(step, barrier)) for step in others]
    for thread in threads:
        thread.start()
    for _ in range(WARMUP + STEPS):
        barrier.wait()
        first()
        barrier.wait()
        window.step()
    for thread in threads:
        thread.join()


def rounds(step: Step, barrier: threading.Barrier) -> None:
    """What another thread does meanwhile."""
    for _ in range(WARMUP + STEPS):
        barrier.wait()
        step()
        barrier.wait()


def parsed() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--profiler", choices=["nsys", "torch"], default="torch")
    parser.add_argument(
        "--output", type=Path, help="folder of the trace that torch.profiler writes"
    )
    parser.add_argument("--single", action="store_true", help="autograd without a thread")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    return parser.parse_args()


def main() -> None:
    """Record one scenario, or this rank's part of it."""
    arguments = parsed()
    cuda = arguments.device == "cuda"
    device = torch.device("cuda", RANK) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if "LOCAL_RANK" in os.environ:
        dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    torch.manual_seed(RANK)
    Ranges.nvtx = arguments.profiler == "nsys"
    steps = SCENARIOS[arguments.scenario](device, arguments.single)
    if Ranges.nvtx:
        run(steps, NsysWindow())
    else:
        name = f"{arguments.scenario}{'.single' * arguments.single}"
        name += f".rank{RANK}" * dist.is_initialized()
        output = arguments.output / f"{name}.json.gz"
        with traced(output, cuda, all_threads=len(steps) > 1) as profiler:
            run(steps, profiler)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
