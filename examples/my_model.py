"""A small language model, to measure in place of this project's own: see docs/own_model.md."""

import torch
from torch import nn

from workflow_src.workload import Workload


def make(device, context=128, layers=2, width=128, vocabulary=1000, batch=4):
    """A model, a batch and a loss."""
    block = nn.TransformerEncoderLayer(width, 4, batch_first=True)
    blocks = nn.TransformerEncoder(block, layers)
    model = nn.Sequential(nn.Embedding(vocabulary, width), blocks, nn.Linear(width, vocabulary))
    model = model.to(device)
    tokens, targets = torch.randint(vocabulary, (2, batch, context), device=device)

    def loss(model, tokens):
        return nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    return Workload(model, (tokens,), loss)
