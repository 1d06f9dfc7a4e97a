"""A language model as a course's own: layers in a list, and a range that it opens itself."""

import torch
from torch import Tensor, nn

from workflow_src.workload import range_


class FeedForward(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w1, self.w2 = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.w2(torch.sigmoid(self.w1(x)))
        return output


class Attention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.q_proj, self.v_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.q_proj(x) @ x.transpose(-2, -1)
        with range_("softmax"):
            weights = torch.softmax(scores, dim=-1)
        return weights @ self.v_proj(x)


class Layer(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.attn, self.ffn = Attention(d_model), FeedForward(d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(x)
        output: Tensor = x + self.ffn(x)
        return output


class LanguageModel(nn.Module):
    def __init__(self, vocabulary: int, d_model: int, layers: int) -> None:
        super().__init__()
        self.token_embeddings = nn.Embedding(vocabulary, d_model)
        self.layers = nn.ModuleList(Layer(d_model) for _ in range(layers))
        self.lm_head = nn.Linear(d_model, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.lm_head(x)
        return logits
