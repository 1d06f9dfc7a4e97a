"""One's own loop, in one process or under torchrun: DDP, FSDP2, compile, checkpointing, graphs."""

import argparse
import os

import torch
import torch.distributed as dist
from data_and_model import loader, model
from profile_ranges import Capture
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

HOW = ("plain", "checkpoint", "compile", "graphs", "ddp", "fsdp")
CUDA, RANK = torch.cuda.is_available(), int(os.environ.get("LOCAL_RANK", 0))


def wrapped(network: torch.nn.Module, how: str) -> torch.nn.Module:
    """The model as `how` trains it."""
    if how == "checkpoint":
        network.gradient_checkpointing_enable()
    elif how == "compile":
        return torch.compile(network)
    elif how == "graphs":
        return torch.compile(network, mode="reduce-overhead")
    elif how == "ddp":
        return DistributedDataParallel(network)
    elif how == "fsdp":
        for block in network.transformer.h:
            fully_shard(block)
        fully_shard(network)
    return network


def main() -> None:
    """Train for one epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--how", choices=HOW)
    how = parser.parse_args().how
    device = torch.device("cuda", RANK) if CUDA else torch.device("cpu")
    if CUDA:
        torch.cuda.set_device(device)
    if "RANK" in os.environ:
        dist.init_process_group("cpu:gloo,cuda:nccl" if CUDA else "gloo")
    network = wrapped(model().to(device), how)
    optimizer = torch.optim.AdamW(network.parameters())
    capture = Capture(network)
    for batch in capture.steps(loader()):
        batch = {key: value.to(device, non_blocking=True) for key, value in batch.items()}
        loss = network(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
