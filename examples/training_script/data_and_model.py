"""A small language model of `transformers` and random data, for the scripts beside it."""

import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY, CONTEXT, SEQUENCES, BATCH = 1000, 64, 120, 4


def data() -> list[dict[str, torch.Tensor]]:
    """Random tokens; targets are the tokens themselves."""
    tokens = torch.randint(VOCABULARY, (SEQUENCES, CONTEXT))
    return [{"input_ids": each, "labels": each} for each in tokens]


def loader() -> DataLoader:
    """The data in 30 batches, of which two processes get 15 each."""
    return DataLoader(data(), batch_size=BATCH, pin_memory=torch.cuda.is_available())


def model() -> GPT2LMHeadModel:
    """GPT-2 of 2 layers and width 256."""
    sizes = {"n_layer": 2, "n_embd": 256, "n_head": 4, "n_positions": CONTEXT}
    ends = {"bos_token_id": None, "eos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, **sizes, **ends))
