"""The training loss of the language model."""

from torch import Tensor
from torch.nn import functional


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of the targets, in nats: a scalar.

    logits: (batch, T, vocabulary); targets: (batch, T), int64.
    """
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
