"""Adds up numbers in low precision, and observes the dtypes that autocast really produces."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from workflow_src.measure.precision import AUTOCAST
from workflow_src.studies.study import Point, Row

VARIANTS = {
    "fp32 into fp32": (torch.float32, torch.float32, False),
    "fp16 into fp16": (torch.float16, torch.float16, False),
    "fp16 into fp32": (torch.float32, torch.float16, False),
    "fp16 cast to fp32 into fp32": (torch.float32, torch.float16, True),
}
"""Dtypes of sum and addend, and whether the addend is first cast to the sum's dtype."""


def accumulate(point: Point, total: torch.dtype, addend: torch.dtype, cast: bool) -> Row:
    """Add `addend` `additions` times: the sum (`value`), its dtype, and the addend as stored.

    Both numbers are in double precision, which holds every number of the two dtypes exactly.
    """
    device = point["device"]
    value = torch.tensor(0, dtype=total, device=device)
    each = torch.tensor(point["addend"], dtype=addend, device=device)
    for _ in range(point["additions"]):
        value += each.to(total) if cast else each
    return {
        "value": value.double().item(),
        "addend": each.double().item(),
        "sum_dtype": short(total),
    }


def accumulation(point: Point) -> list[Row]:
    """A row per variant."""
    about = {"part": "accumulation", "device": point["device"], "status": "ok", "reason": ""}
    variants = VARIANTS.items()
    return [about | {"variant": name} | accumulate(point, *types) for name, types in variants]


class Toy(nn.Module):
    """Linear, ReLU, LayerNorm, Linear: (batch, 8) -> (batch, 4)."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.norm = nn.LayerNorm(16)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        logits: Tensor = self.fc2(self.norm(self.relu(self.fc1(x))))
        return logits


def short(dtype: torch.dtype) -> str:
    """The name of a dtype without its module: float16 for torch.float16."""
    return str(dtype).removeprefix("torch.")


def observe(dtype: torch.dtype, device: str) -> dict[str, str]:
    """The dtype of each tensor in one forward and backward pass of Toy under autocast."""
    torch.manual_seed(0)
    model = Toy().to(device)
    inputs, targets = torch.randn(4, 8, device=device), torch.arange(4, device=device)
    seen = {f"{name} (parameter)": short(p.dtype) for name, p in model.named_parameters()}

    def note(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda module, given, made: seen.update({name: short(made.dtype)})

    def note_gradient(name: str) -> Callable[[Tensor], None]:
        return lambda p: seen.update({name: "none" if p.grad is None else short(p.grad.dtype)})

    for name, module in model.named_children():
        module.register_forward_hook(note(f"{name} (output)"))
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(note_gradient(f"{name} (gradient)"))
    with torch.autocast(device, dtype=dtype):
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits, targets)
    seen |= {"logits": short(logits.dtype), "loss": short(loss.dtype)}
    torch.autograd.backward(loss)
    return seen


def dtypes(device: str) -> Iterator[Row]:
    """A row per tensor, with its dtype under each autocast."""
    found = {name: observe(dtype, device) for name, dtype in AUTOCAST.items()}
    for tensor in found["fp16"]:
        types = {f"autocast_{name}": seen[tensor] for name, seen in found.items()}
        about = {"part": "dtypes", "device": device, "status": "ok", "reason": ""}
        yield about | {"tensor": tensor} | types
