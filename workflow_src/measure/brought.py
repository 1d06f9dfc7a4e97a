"""What a brought function makes: loaded from its file, called, and checked."""

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from workflow_src.common.case import AnyCase, Brought
from workflow_src.common.errors import StageError
from workflow_src.measure.rows import out_of_memory
from workflow_src.workload import Workload

AROUND = ("precision", "execution")
"""The axes that are set around a model whose function doesn't take them."""

NOT_THEIRS = {"workflow_src", "site-packages"}
"""Folders whose code is not that of a brought model, even if they lie beside its file."""

MOST_SAID = 300

TRITON_LACKS_DRIVER = "0 active drivers"
NO_GPU_FOR_TRITON = (
    " Triton found no GPU: on a CPU, set the environment variable TRITON_INTERPRET=1"
)

HINTS = {
    ("batch", "dict"): (
        "; a model that takes the dict itself has the batch (batch,), and for one that takes its "
        "values by name, wrap the model in a module that does so"
    ),
    ("batch", "Tensor"): "; of a single tensor, that is (tensor,)",
}
"""What to do about an attribute of a type that is often tried."""


def blamed(case: AnyCase, what: str) -> AbstractContextManager[None]:
    """Turn whatever brought code raises into one sentence, unless memory has run out.

    Exceptions of this project's own model propagate, unless a brought attention of it is among
    what raised them. Raises StageError.
    """
    where = case.brought_code
    return _blamed(where, what, isinstance(case, Brought)) if where else nullcontext()


@contextmanager
def _blamed(where: str, what: str, is_all_theirs: bool = True) -> Iterator[None]:
    folder = os.getcwd()
    try:
        yield
    except (StageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        os.chdir(folder)
        place = place_of(where, error)
        if out_of_memory(error) or not (place or is_all_theirs):
            raise
        raise wrong(where, f"{what} raised {in_words(error)}{place}") from error
    finally:
        # Code that changes the folder, as hydra does, would move the result elsewhere.
        os.chdir(folder)


def in_words(error: BaseException) -> str:
    """An exception's kind and what it says, shortened."""
    said = " ".join(str(error).split())[:MOST_SAID]
    said += NO_GPU_FOR_TRITON if TRITON_LACKS_DRIVER in said else ""
    return type(error).__name__ + (f": {said}" if said else "")


def wrong(where: str, why: str) -> StageError:
    """The error that names the file and the function, and says what is wrong."""
    return StageError(f"{where}: {why}")


def place_of(where: str, error: BaseException) -> str:
    """The innermost line of the file, or of what lies beside it, that led to an error."""
    folder = Path(where.rpartition(":")[0]).resolve().parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename).resolve()
        if path.is_relative_to(folder) and NOT_THEIRS.isdisjoint(path.parts):
            return f" ({path.relative_to(folder)}, line {frame.lineno})"
    return ""


def function_of(where: str) -> Callable[..., Any]:
    """The function at file.py:function; modules beside its file can be imported from now on.

    Raises StageError if the file can't be run, or has no such function.
    """
    path, _, name = where.rpartition(":")
    file = Path(path)
    # Under its own name, but not in the way of an installed module of the same.
    module_name = f"brought_{file.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec and spec.loader, "the plan takes .py files only"
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(file.resolve().parent))
    with _blamed(where, "importing the file"):
        spec.loader.exec_module(module)
    found: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(found):
        raise wrong(where, f"the file has no function {name!r}")
    return found


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name."""
    return name in inspect.signature(function).parameters


def made(case: Brought, function: Callable[..., Any]) -> Workload:
    """The workload that a function makes of a case's device and axes, random from its seed.

    May run out of memory. Raises StageError if it can't be called so, or makes something else.
    """
    given = case.arguments | {"precision": case.precision}
    around = [name for name in AROUND if not takes(function, name)]
    given = {name: each for name, each in given.items() if name not in around}
    try:
        inspect.signature(function).bind(torch.device(case.device), **given)
    except TypeError as error:
        said = ", ".join(["device", *given])
        raise wrong(case.workload, f"the function can't be called with {said} ({error})") from None
    torch.manual_seed(case.seed)
    with blamed(case, "the function"):
        found = function(torch.device(case.device), **given)
    return _checked(case, found)


def _checked(case: Brought, found: Any) -> Workload:
    names = ("model", "batch", "loss", "optimizer")
    if not all(hasattr(found, name) for name in names[:-1]):
        why = f"must return a Workload(model, batch, loss), not {type(found).__name__}"
        raise wrong(case.workload, f"the function {why}")
    parts: tuple[Any, ...] = tuple(getattr(found, name, None) for name in names)
    model, batch, loss, optimizer = parts
    right = (
        (isinstance(model, nn.Module), "an nn.Module"),
        (isinstance(batch, tuple | list), "a tuple, the arguments of one forward pass"),
        (callable(loss), "a function of the model and the batch"),
        (optimizer is None or isinstance(optimizer, Optimizer), "of torch.optim"),
    )
    for name, (is_right, what) in zip(names, right, strict=True):
        if not is_right:
            kind = type(getattr(found, name)).__name__
            said = f"{name} {kind}, which must be {what}{HINTS.get((name, kind), '')}"
            raise wrong(case.workload, f"what the function returns has {said}")
    places = {each.device.type for each in model.parameters()} - {case.device}
    if places:
        why = f"the model is on {places.pop()}, and the device is {case.device}"
        raise wrong(case.workload, why)
    needed = {id(each) for each in model.parameters() if each.requires_grad}
    groups = optimizer.param_groups if optimizer is not None else []
    given = {id(each) for group in groups for each in group["params"]}
    if groups and needed and needed.isdisjoint(given):
        why = "the optimizer has none of the model's parameters, so no step changes it"
        raise wrong(case.workload, why)
    return Workload(model, tuple(batch), loss, optimizer)


def batch_size(batch: Iterable[Any]) -> dict[str, int]:
    """Tokens of a batch whose first tensor is of whole numbers, (batch, length, ...); else samples.

    Those are the first axis of that tensor. Empty for a batch without tensors.
    """
    first = next(_tensors(batch), None)
    if first is None or not first.dim():
        return {}
    if first.dim() > 1 and first.dtype in (torch.int64, torch.int32):
        return {"tokens": first.numel()}
    return {"samples": first.shape[0]}


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in a value, in lists, tuples and mappings, too."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(each)


def checked_loss(case: Brought, loss: Any, model: nn.Module) -> Tensor:
    """A loss of a model. Raises StageError if it isn't a scalar tensor with a gradient."""
    if not isinstance(loss, Tensor):
        why = f"is of type {type(loss).__name__}, not a scalar tensor"
    elif loss.dim():
        why = f"has shape {tuple(loss.shape)}, and must be a scalar"
    elif loss.requires_grad:
        return loss
    elif any(each.grad is not None for each in model.parameters()):
        why = (
            "has no gradient, but parameters have: the loss function called backward() itself; "
            "return the loss instead, of micro batches their sum, and leave that call out"
        )
    else:
        why = "has no gradient: no parameter of the model led to it"
    raise wrong(case.workload, f"the loss {why}")
