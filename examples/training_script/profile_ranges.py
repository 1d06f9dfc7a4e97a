"""Ranges, steps and a capture window for any training script: copy this file beside it.

    capture = Capture(model)                 # As it is called: after DDP, FSDP, compile, prepare.
    for batch in capture.steps(loader): ...  # Or capture.next_step() in a callback.

Under nsys it opens the window for -c cudaProfilerApi. With CAPTURE=FOLDER in the environment,
torch.profiler writes a trace of each rank there. Without either it does nothing.

Capture(model, gradients=True) adds a step after the others, "step by module", in which backward has
ranges of modules, too: backward/gradients/h.0. They need torch 2.14, and take the host 13 to 18 us
for each of autograd's nodes, so no other step has them. Under nsys alone: a trace of torch.profiler
tells each module's backward without them.
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
ON_CREATION = getattr(torch.autograd.graph, "node_creation_hook", None)


def push(name: str) -> None:
    """Open a range on this thread; code that torch.compile compiles opens none."""
    if torch.compiler.is_compiling():
        return
    if NSYS:
        torch.cuda.nvtx.range_push(name)
    else:
        HERE.open.append(record_function(name))
        HERE.open[-1].__enter__()


def pop() -> None:
    """Close the range that was opened last on this thread."""
    if torch.compiler.is_compiling():
        return
    if NSYS:
        torch.cuda.nvtx.range_pop()
    else:
        HERE.open.pop().__exit__(None, None, None)


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


class Here(threading.local):
    """Of a thread: open ranges, the modules whose forward runs, the nodes being made in the
    innermost one, and those whose ranges are open in which backward."""

    def __init__(self) -> None:
        self.open: list[record_function] = []
        self.path: tuple[str, ...] = ()
        self.outer: list[tuple[tuple[str, ...], Nodes | None]] = []
        self.made: Nodes | None = None
        self.running: Nodes | None = None
        self.backward = -1


HERE = Here()


class Nodes:
    """Nodes of autograd made one after another in one module, which backward runs one after
    another: one range for all of them. It holds none of them."""

    def __init__(self, first: Any, path: tuple[str, ...]):
        self.names = ("gradients", *path[1:])
        self.path = path
        first.register_hook(self.end)  # What was made first runs last.

    def begin(self, _: Any) -> None:
        """Open the ranges before a node runs."""
        if torch.compiler.is_compiling() or HERE.running is self:
            return
        if HERE.backward != (number := torch._C._current_graph_task_id()):
            torch.autograd.Variable._execution_engine.queue_callback(switch)  # When it ends.
            HERE.backward = number
        switch(self)

    def end(self, *_: Any) -> None:
        """Close them after the last one."""
        if not torch.compiler.is_compiling() and HERE.running is self:
            switch()


def switch(nodes: Nodes | None = None) -> None:
    """Close the ranges that are open in backward, and open those of these nodes."""
    for _ in HERE.running.names if HERE.running else ():
        pop()
    for name in nodes.names if nodes else ():
        push(name)
    HERE.running = nodes


def created(node: Any) -> None:
    """Remember where a node was made; what accumulates a gradient is made once, and kept."""
    if node.next_functions:
        HERE.made = HERE.made or Nodes(node, HERE.path)
        node.register_prehook(HERE.made.begin)


def enter(name: str, *_: Any) -> None:
    """Begin to follow the nodes of a module, also where its forward runs again in backward."""
    if torch.compiler.is_compiling() or not Capture.following:
        return
    again = HERE.running if torch._C._current_graph_task_id() >= 0 else None
    HERE.outer.append((HERE.path, again))
    if not HERE.path:
        ON_CREATION(created).__enter__()
    switch()
    HERE.path, HERE.made = (*(again.path if again else HERE.path), name), None


def leave(*_: Any) -> None:
    """End that, and go on where the module was called."""
    if torch.compiler.is_compiling() or not Capture.following:
        return
    (HERE.path, again), HERE.made = HERE.outer.pop(), None
    if not HERE.path:
        ON_CREATION(created).__exit__()
    switch(again)


class Capture:
    """Ranges of modules, backward and optimizer, and a window of `steps` steps after `first`.

    gradients: whether a further step, `by_module`, has ranges of modules in backward.
    """

    following = False

    def __init__(
        self,
        model: nn.Module,
        first: int = 10,
        steps: int = 3,
        depth: int = 2,
        gradients: bool = False,
    ):
        self.first, self.end, self.step = first, first + steps, -1
        self.by_module: int | None = None
        self.undo: list[Callable[[], object]] = []
        if not (NSYS or FOLDER):
            return
        self.modules = [("forward", model), *below(model, depth)]
        self.hook(lambda name, *_: push(name), lambda *_: pop())
        if gradients and NSYS and ON_CREATION:
            self.by_module, self.end = self.end, self.end + 1
            self.hook(enter, leave)
        elif gradients and NSYS:
            print(f"No ranges of modules in backward: torch {torch.__version__} is before 2.14.")
        self.wrap(torch.autograd, "backward", "backward")
        before = optimizer.register_optimizer_step_pre_hook(self.before_optimizer)
        after = optimizer.register_optimizer_step_post_hook(lambda *_: pop())
        self.undo += [before.remove, after.remove]
        plan = schedule(wait=first - 1, warmup=1, active=steps, repeat=1)
        self.profiler = None if NSYS else profile(schedule=plan, on_trace_ready=self.write)
        together = dist.is_available() and dist.is_initialized()
        self.group = dist.new_group(backend="gloo") if together else None
        atexit.register(self.close)

    def hook(self, begin: Callable[..., None], end: Callable[..., None]) -> None:
        """Call these before and after the forward of each module, the first one with its name."""
        for name, module in self.modules:
            before = functools.partial(begin, name)
            self.undo.append(module.register_forward_pre_hook(before, prepend=True).remove)
            self.undo.append(module.register_forward_hook(end, always_call=True).remove)

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
        Capture.following = self.step == self.by_module
        push("step by module" if Capture.following else "step")

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
