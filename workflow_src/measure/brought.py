"""Brought code: loaded from its file, blamed for what it raises; a model's called and checked."""

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.utils._pytree import tree_leaves

from workflow_src.common.case import AROUND, Brought
from workflow_src.common.errors import StageError
from workflow_src.measure.precision import use_precision
from workflow_src.measure.rows import out_of_memory
from workflow_src.workload import Workload

NOT_THEIRS = {"workflow_src", "site-packages"}
"""Folders whose code is not that of a brought model, even if they lie beside its file."""

MOST_SAID = 300

TRITON_LACKS_DRIVER = "0 active drivers"
NO_GPU_FOR_TRITON = (
    " Triton found no GPU: on a CPU, set the environment variable TRITON_INTERPRET=1"
)


@contextmanager
def blamed(where: str, what: str, is_all_theirs: bool = True) -> Iterator[None]:
    """Turn what brought code at `where` raises into a StageError, unless memory has run out.

    Of what isn't all theirs, such as a model with a brought attention, exceptions propagate unless
    that code is among what raised them.
    """
    try:
        # Code that changes the folder, as hydra does, would move the result elsewhere.
        with chdir(os.curdir):
            yield
    except (StageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        place = place_of(where, error) if where else ""
        if out_of_memory(error) or not (place or is_all_theirs):
            raise
        raise StageError(f"{where}: {what} raised {in_words(error)}{place}") from error


def in_words(error: BaseException) -> str:
    """An exception's kind and what it says, shortened."""
    said = " ".join(str(error).split())[:MOST_SAID]
    said += NO_GPU_FOR_TRITON if TRITON_LACKS_DRIVER in said else ""
    return type(error).__name__ + (f": {said}" if said else "")


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

    Raises StageError if there is none.
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
    with blamed(where, "importing the file"):
        spec.loader.exec_module(module)
    found: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(found):
        raise StageError(f"{where}: the file has no function {name!r}")
    return found


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters; none of one in C."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def made(case: Brought) -> tuple[Workload, set[str]]:
    """What a case's function makes of its device and axes, and which axes AROUND it takes itself.

    Random from the case's seed; a precision that it doesn't take is set. The loss is checked at
    each call; an optimizer that is missing is AdamW, if there is anything to train. May run out of
    memory. Raises StageError if the function fails, or makes something else.
    """
    function = function_of(case.workload)
    taken = set(AROUND) & set(parameters_of(function))
    given = case.arguments | {"precision": case.precision}
    given = {name: each for name, each in given.items() if name in taken or name not in AROUND}
    if "precision" not in taken:
        use_precision(case.precision)
    torch.manual_seed(case.seed)
    with blamed(case.workload, "the function"):
        found = function(torch.device(case.device), **given)
    if why := _problem(found, case.device):
        raise StageError(f"{case.workload}: {why}")
    model, given_loss = found.model, found.loss
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = getattr(found, "optimizer", None) or (AdamW(trained) if trained else None)

    def loss(*given: Any) -> Tensor:
        return _checked_loss(case, given_loss(*given), model)

    return Workload(model, tuple(found.batch), loss, optimizer), taken


def _problem(found: Any, device: str) -> str:
    """What is wrong with what a function returned, or ""."""
    if not all(hasattr(found, name) for name in ("model", "batch", "loss")):
        kind = type(found).__name__
        return f"the function must return a Workload(model, batch, loss), not {kind}"
    model, batch, optimizer = found.model, found.batch, getattr(found, "optimizer", None)
    right = {
        "model": (isinstance(model, nn.Module), "an nn.Module"),
        "batch": (isinstance(batch, tuple | list), "a tuple of arguments, as (tensor,) or (dict,)"),
        "loss": (callable(found.loss), "a function of the model and the batch"),
        "optimizer": (optimizer is None or isinstance(optimizer, Optimizer), "of torch.optim"),
    }
    for name, (is_right, what) in right.items():
        if not is_right:
            kind = type(getattr(found, name)).__name__
            return f"what the function returns has {name} {kind}, which must be {what}"
    places = {each.device.type for each in model.parameters()} - {device}
    if places:
        return f"the model is on {places.pop()}, and the device is {device}"
    needed = {id(each) for each in model.parameters() if each.requires_grad}
    groups = optimizer.param_groups if optimizer is not None else []
    given = {id(each) for group in groups for each in group["params"]}
    if groups and needed and needed.isdisjoint(given):
        return "the optimizer has none of the model's parameters, so no step changes it"
    return ""


def batch_size(batch: Iterable[Any]) -> dict[str, int]:
    """Tokens of a batch whose first tensor is of whole numbers, (batch, length, ...); else samples:
    the first axis of that tensor. Empty for a batch without tensors.
    """
    first = next((each for each in tree_leaves(list(batch)) if isinstance(each, Tensor)), None)
    if first is None or not first.dim():
        return {}
    if first.dim() > 1 and first.dtype in (torch.int64, torch.int32):
        return {"tokens": first.numel()}
    return {"samples": first.shape[0]}


def _checked_loss(case: Brought, loss: Any, model: nn.Module) -> Tensor:
    """`loss`. Raises StageError if it isn't a scalar tensor with a gradient."""
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
    raise StageError(f"{case.workload}: the loss {why}")
