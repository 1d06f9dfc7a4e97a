"""Ranges, steps and a capture window for any training script: copy this file beside it.

    capture = Capture(model)                 # As it is called: after DDP, FSDP, compile, prepare.
    for batch in capture.steps(loader): ...  # Or capture.next_step() in a callback.

Under nsys it opens the window for -c cudaProfilerApi. With CAPTURE=FOLDER in the environment,
torch.profiler writes a trace of each rank there. Without either it does nothing.
"""

import atexit
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer, optimizer
from torch.profiler import profile, record_function, schedule

Item = TypeVar("Item")
NSYS, FOLDER = "NSYS_PROFILING_SESSION_ID" in os.environ, os.environ.get("CAPTURE", "")
WRAPPERS = ("module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
THREAD = threading.local()


def push(name: str) -> None:
    """Open a range on this thread; code that torch.compile compiles opens none."""
    if torch.compiler.is_compiling():
        return
    if NSYS:
        torch.cuda.nvtx.range_push(name)
    else:
        THREAD.open = [*getattr(THREAD, "open", ()), record_function(name)]
        THREAD.open[-1].__enter__()


def pop() -> None:
    """Close the range that was opened last on this thread."""
    if torch.compiler.is_compiling():
        return
    if NSYS:
        torch.cuda.nvtx.range_pop()
    else:
        THREAD.open.pop().__exit__(None, None, None)


def below(module: nn.Module, depth: int, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The modules down to `depth` below one, with their names in the module around them."""
    for key, child in module.named_children() if depth else ():
        if key in WRAPPERS:
            yield from below(child, depth, prefix)
        elif isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from below(child, depth, f"{prefix}{key}.")
        elif key != "_orig_mod":  # What is compiled has one range, around all of it.
            yield prefix + key, child
            yield from below(child, depth - 1)


class Capture:
    """Ranges of modules, backward and optimizer, and a window of `steps` steps after `first`."""

    def __init__(self, model: nn.Module, first: int = 10, steps: int = 3, depth: int = 2):
        self.first, self.end, self.step = first, first + steps, -1
        self.undo: list[Callable[[], object]] = []
        if not (NSYS or FOLDER):
            return
        for name, module in [("forward", model), *below(model, depth)]:
            begin = functools.partial(self.before_forward, name)
            self.undo.append(module.register_forward_pre_hook(begin, prepend=True).remove)
            after = module.register_forward_hook(lambda *_: pop(), always_call=True)
            self.undo.append(after.remove)
        self.wrap(torch.autograd, "backward", "backward")
        before = optimizer.register_optimizer_step_pre_hook(self.before_optimizer)
        after = optimizer.register_optimizer_step_post_hook(lambda *_: pop())
        self.undo += [before.remove, after.remove]
        plan = schedule(wait=first - 1, warmup=1, active=steps, repeat=1)
        # Which stream waits for which: without it, a trace has only calls that say so of some two.
        waits = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
        options = {"on_trace_ready": self.write, "experimental_config": waits}
        self.profiler = None if NSYS else profile(schedule=plan, **options)
        together = dist.is_available() and dist.is_initialized()
        self.group = dist.new_group(backend="gloo") if together else None
        atexit.register(self.close)

    @staticmethod
    def before_forward(name: str, *_: Any) -> None:
        """Open the range of a module."""
        push(name)

    @staticmethod
    def before_optimizer(_: Optimizer, args: Any, kwargs: Any) -> Any:
        """Open the range of an optimizer, after its closure, in which Lightning trains."""
        closure = kwargs.get("closure") or (args[1] if len(args) > 1 else None)
        if closure is None:
            push("optimizer")
            return None
        return args[:1], {**kwargs, "closure": lambda: (closure(), push("optimizer"))[0]}

    def wrap(self, owner: Any, attribute: str, name: str) -> None:
        """Give each call of owner.attribute a range, unless it is inside of another one."""
        function = getattr(owner, attribute)
        inside: list[str] = []

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if inside:
                return function(*args, **kwargs)
            inside.append(name)
            push(name)
            try:
                return function(*args, **kwargs)
            finally:
                pop()
                inside.clear()

        if NSYS or FOLDER:
            setattr(owner, attribute, wrapped)
            self.undo.append(lambda: setattr(owner, attribute, function))

    def steps(self, batches: Iterable[Item]) -> Iterator[Item]:
        """The batches; each step lasts from asking for its batch to asking for the next one."""
        if self.step < 0:
            self.next_step()
        for batch in batches:
            yield batch
            self.next_step()

    def next_step(self) -> None:
        """End the step, if there is one, and begin the next; the window opens and closes here."""
        if not self.undo:
            return
        if self.step >= 0:
            pop()
        self.step += 1
        if self.step in (self.first, self.end):
            self.meet()
        if self.step == self.end:
            return self.close()
        if self.profiler:
            (self.profiler.step if self.step else self.profiler.start)()
        elif self.step == self.first:
            torch.cuda.profiler.start()
        push("step")

    def meet(self) -> None:
        """Wait for this rank's device, then, where all share one window, for the other ranks."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if self.group and (NSYS or self.step == self.first):
            dist.barrier(self.group)

    def close(self) -> None:
        """Write the capture, at the end of the window or of the program, and take hooks back."""
        if not self.undo:
            return
        if 0 <= self.step < self.end:
            pop()
        if self.step < self.first:
            print(
                f"Nothing was captured: {self.step + 1} steps began, and {self.first} are skipped."
            )
        elif self.profiler:
            self.profiler.stop()
        else:
            torch.cuda.profiler.stop()
        for undo in self.undo:
            undo()
        self.undo = []

    def write(self, profiler: profile) -> None:
        """Write this rank's trace."""
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(f"{FOLDER}/rank{os.environ.get('RANK', 0)}.json.gz")
