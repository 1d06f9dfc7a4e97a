"""Ranges of a brought model's modules: forward hooks, only while a profiler listens.

A module's range is named after it, relative to the module around it; names of repeated modules are
folded, so that those of all layers are one path.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

from torch import nn

from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS
from workflow_src.model.ranges import range_

OWN_RANGES = frozenset((*PHASES, *COMPONENTS))
"""The names of this project's own ranges, which its tables and answers know."""

NOT_CALLED = (nn.ModuleList, nn.ModuleDict)

RETURNED = "OptimizedModule"
"""The class of what torch.compile makes of a module."""


def is_compiled(module: nn.Module) -> bool:
    """Whether a module runs under torch.compile, into which hooks don't belong."""
    return module._compiled_call_impl is not None or type(module).__name__ == RETURNED


def named_modules(model: nn.Module, depth: int, fold: str) -> dict[nn.Module, str]:
    """The modules down to `depth` that have ranges, with their names.

    The children of a ModuleList or a ModuleDict, which isn't called itself, are named after it.
    `fold`: a regular expression of what is left out of names; of names that it leaves empty or as
    numbers, and of repeated modules in a Sequential, there is the class in their place. A name that
    is one of OWN_RANGES is followed by the class. Modules that run under torch.compile have none.
    """
    found: dict[nn.Module, str] = {}

    def name_children(above: nn.Module, prefix: str, depth: int) -> None:
        if depth < 1 or is_compiled(above):
            return
        for key, child in above.named_children():
            name = f"{prefix}.{key}" if prefix else key
            if isinstance(child, NOT_CALLED):
                name_children(child, name, depth)
            elif child not in found and not is_compiled(child):
                found[child] = _folded(name, child, above, fold)
                name_children(child, "", depth - 1)

    name_children(model, "", depth)
    return found


def _folded(name: str, module: nn.Module, above: nn.Module, fold: str) -> str:
    kind = type(module).__name__
    if fold:
        name = re.sub(fold, "", name)
        alike = [each for each in above.children() if type(each) is type(module)]
        repeated = isinstance(above, nn.Sequential) and len(alike) > 1 and any(module.children())
        name = kind if not name or name.isdigit() or repeated else name
    name = name.replace("/", "|")
    return f"{name} ({kind})" if name in OWN_RANGES else name


_OPEN = threading.local()
"""Its `ranges` are those open on this thread."""


@contextmanager
def module_ranges(model: nn.Module, depth: int, fold: str) -> Iterator[None]:
    """While inside, each call of a module of `named_modules` emits its range."""

    def begin(name: str, *_: Any) -> None:
        opened = range_(name)
        opened.__enter__()
        vars(_OPEN).setdefault("ranges", []).append(opened)

    def end(*_: Any) -> None:
        _OPEN.ranges.pop().__exit__(None, None, None)

    with ExitStack() as hooks:
        for module, name in named_modules(model, depth, fold).items():
            hooks.enter_context(module.register_forward_pre_hook(partial(begin, name)))
            # Also after an exception, which the model may catch.
            hooks.enter_context(module.register_forward_hook(end, always_call=True))
        yield


class ForwardThenLoss:
    """Tells the calls of a model from the rest of a loss function that calls it.

    Around a call of that function, it emits the range "forward" until a call of the model returns,
    then "loss" until the next one.
    """

    def __init__(self) -> None:
        self.calls, self.name = 0, ""
        self.range: AbstractContextManager[object] = nullcontext()

    def __enter__(self) -> None:
        """Open the range "forward"."""
        self._open("forward")

    def __exit__(self, *_: object) -> None:
        """Close the range that is open."""
        self._open("")

    @contextmanager
    def of(self, model: nn.Module) -> Iterator[None]:
        """While inside, `model` is the one whose calls are told apart.

        In place of torch's compiled call, since hooks don't belong into compiled code; of a model
        that torch.compile returned, not at all.
        """
        if type(model).__name__ == RETURNED:
            yield
            return
        before = model._compiled_call_impl
        model._compiled_call_impl = partial(self._call, before or model._call_impl)
        try:
            yield
        finally:
            model._compiled_call_impl = before

    def _call(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if not self.name:
            return call(*given, **named)
        self.calls += 1
        self._open("forward")
        try:
            return call(*given, **named)
        finally:
            # A model may call itself.
            self.calls -= 1
            self._open("forward" if self.calls else "loss")

    def _open(self, name: str) -> None:
        """Open a range, or none, in place of the one that is open."""
        if name != self.name:
            self.range.__exit__(None, None, None)
            self.name, self.range = name, range_(name) if name else nullcontext()
            self.range.__enter__()
