"""Functions as users bring them; what is imported where it is used need not be installed."""

import os
import threading
from collections import OrderedDict
from types import SimpleNamespace

import nvtx
import torch
from course_model import LanguageModel  # type: ignore[import-not-found]
from torch import Tensor, nn

from workflow_src.workload import Workload


def mean_square(device, model, *shape):
    """A model given random numbers, whose loss is the mean square of what it returns."""
    x = torch.randn(*shape, device=device)
    return Workload(model.to(device), (x,), lambda model, x: model(x).float().pow(2).mean())


def mlp(device, width=16, batch=4, precision="fp32"):
    model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 3)).to(device)
    x, y = torch.randn(batch, 8, device=device), torch.randint(3, (batch,), device=device)
    return SimpleNamespace(
        model=model, batch=[x], loss=lambda model, x: nn.functional.cross_entropy(model(x), y)
    )


class Conv1D(nn.Module):
    """A layer as GPT-2's in transformers, which calls torch.addmm itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(8, 6)), nn.Parameter(torch.ones(6))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight)


class Twins(nn.Module):
    """Two modules around one of the same name, as GPT-2's attn.c_proj and mlp.c_proj."""

    def __init__(self) -> None:
        super().__init__()
        self.attn, self.mlp = (nn.Sequential(OrderedDict(proj=Conv1D())) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.attn(x) + self.mlp(x)


def twins(device):
    return mean_square(device, Twins(), 4, 8)


class Experts(nn.Module):
    """Two experts, each a matrix for its rows: 4 and 12 of 16."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 8, 24))

    def forward(self, x: Tensor) -> Tensor:
        ends = torch.tensor([4, 16], dtype=torch.int32, device=x.device)
        return torch._grouped_mm(x, self.weight, offs=ends)


def experts(device):
    return mean_square(device, Experts(), 16, 8)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, 2), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(x)[0])


def tagger(device):
    return mean_square(device, Tagger(), 5, 3, 8)


def evaluating(device):
    """A layer that torch does as one operator in the forward pass, which has no gradients."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return mean_square(device, layer.eval(), 2, 6, 16)


def adagrad(device):
    model = nn.Linear(2, 3).to(device)
    optimizer = torch.optim.Adagrad(model.parameters())
    x = torch.randn(4, 2, device=device)
    return Workload(model, (x,), lambda model, x: model(x).sum(), optimizer)


def course(device, *, context, layers=2):
    ids = torch.randint(50, (2, context + 1), device=device)

    def loss(model, ids):
        return nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())

    inputs, targets = ids[:, :-1], ids[:, 1:]
    return Workload(LanguageModel(50, 16, layers).to(device), (inputs,), loss)


class TwoInputs(nn.Module):
    """A dictionary as output, dropout, control flow that depends on data, an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(8, 4), nn.Linear(3, 4), nn.Linear(2, 2)
        self.dropout, self.loss = nn.Dropout(0.5), nn.MSELoss()

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        hidden = self.dropout(self.a(x) + self.b(y))
        for _ in range(1 + int(hidden.abs().sum().item()) % 3):
            hidden = hidden + self.b(y)
        return {"hidden": hidden if hidden.sum() > 0 else -hidden}


def two_inputs(device):
    model = TwoInputs().to(device)
    batch = (torch.randn(5, 8, device=device), torch.randn(5, 3, device=device))
    target = torch.zeros(5, 4, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Workload(model, batch, lambda m, *b: m.loss(m(*b)["hidden"], target), optimizer)


def not_finite(device):
    return Workload(
        nn.Linear(2, 2).to(device),
        (torch.full((3, 2), float("nan"), device=device),),
        lambda model, x: model(x).sum(),
    )


class Noisy(nn.Module):
    """It prints, and another thread computes a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        print("forward of", tuple(x.shape))
        found: list[Tensor] = []
        thread = threading.Thread(target=lambda: found.append(torch.ones(4, 4) @ torch.ones(4, 4)))
        thread.start()
        thread.join()
        return self.a(x) + found[0].sum()


def noisy(device):
    return mean_square(device, Noisy(), 3, 4)


class Annotated(nn.Module):
    """It has a range of its own, around one of its modules."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with nvtx.annotate("mine"):
            x = self.a(x)
        return self.b(x)


def with_nvtx(device):
    return mean_square(device, Annotated(), 3, 4)


def compiled(device):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to(device)
    return mean_square(device, torch.compile(model, backend="aot_eager"), 3, 4)


def frozen(device):
    return mean_square(device, nn.Linear(4, 4).requires_grad_(False), 3, 4)


def raising(device):
    return mean_square(device, nn.Linear(2, 2), 3, 5)


def refusing(device):
    raise ValueError("no such model")


def nothing(device):
    """Forgets to return."""


def dict_as_batch(device):
    return Workload(nn.Linear(2, 2), {"x": torch.randn(3, 2)}, lambda model, x: model(x).sum())


def backward_inside(device):
    def loss(model, x):
        mean = model(x).mean()
        mean.backward()
        return mean.detach()

    return Workload(nn.Linear(2, 2), (torch.randn(3, 2),), loss)


def number_as_loss(device):
    return Workload(nn.Linear(2, 2), (torch.randn(3, 2),), lambda model, x: 0.0)


def loss_without_gradient(device):
    return Workload(nn.Linear(2, 2), (torch.randn(3, 2),), lambda model, x: model(x).sum().detach())


def too_large(device):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")


def leaving(device):
    raise SystemExit("usage: train.py --data FOLDER")


def moving(device):
    """Changes the folder, as hydra does, while it is called and in each step."""

    def loss(model, x):
        os.chdir("/")
        return model(x).sum()

    os.chdir("/")
    return Workload(nn.Linear(2, 2), (torch.ones(2),), loss)


def of_another_model(device):
    others = nn.Linear(2, 2).parameters()
    return Workload(nn.Linear(2, 2), (torch.ones(2),), loss_of_sum, torch.optim.SGD(others))


def loss_of_sum(model, x):
    return model(x).sum()


def elsewhere(device):
    return Workload(nn.Linear(2, 2, device="meta"), (), lambda model: model.weight.sum())
