"""GPT-2 small and a Llama of 1.2 billion parameters, from transformers, with random weights."""

import torch
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

from workflow_src.workload import Workload

HEAD = 64


def gpt2(device, context=1024, batch=8, layers=12, width=768, vocabulary=50257, attention="sdpa"):
    """GPT-2 small, as its configuration is by default, dropout included."""
    config = GPT2Config(
        n_positions=max(context, 1024),
        n_layer=layers,
        n_embd=width,
        n_head=width // HEAD,
        vocab_size=vocabulary,
    )
    return next_token(config, device, context, batch, attention)


def llama(
    device, context=2048, batch=2, layers=16, width=2048, vocabulary=128256, attention="sdpa"
):
    """A Llama of the sizes of Llama 3.2 1B."""
    config = LlamaConfig(
        max_position_embeddings=context,
        num_hidden_layers=layers,
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=width // HEAD,
        num_key_value_heads=width // HEAD // 4,
        vocab_size=vocabulary,
        tie_word_embeddings=True,
    )
    return next_token(config, device, context, batch, attention)


def next_token(config, device, context, batch, attention):
    """A model of this configuration, random tokens, and the cross-entropy of the next one."""
    config.use_cache = False
    with device:
        model = AutoModelForCausalLM.from_config(
            config, attn_implementation=attention, dtype=torch.float32
        )
    tokens = torch.randint(config.vocab_size, (batch, context + 1), device=device)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def loss(model, inputs):
        logits = model(inputs).logits
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Workload(model.train(), (inputs,), loss)
