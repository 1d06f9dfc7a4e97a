"""GPT-2 small in bf16 on several processes, to be captured: see README.md."""

import argparse
import json
import os
from contextlib import contextmanager
from pathlib import Path

import nvtx
import torch
import torch.distributed as dist
from models import gpt2
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, record_function, schedule

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
STEPS = 5


@contextmanager
def range_(name):
    """A range for torch.profiler, and one for nsys."""
    with record_function(name), nvtx.annotate(name):
        yield


def train(workload, model, optimizer):
    """Run STEPS training steps, each to its end on the device."""
    for _ in range(STEPS):
        with range_("train_step"):
            optimizer.zero_grad()
            with range_("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
                loss = workload.loss(model, *workload.batch)
            with range_("backward"):
                loss.backward()
            with range_("optimizer"):
                optimizer.step()
            if CUDA:
                torch.cuda.synchronize()


def under_nsys(parts):
    """Run steps in nsys's window, which all processes enter, and leave, at the same time."""
    meet = torch.zeros(1)  # On the CPU, so that waiting isn't work of a device.
    dist.all_reduce(meet)
    torch.cuda.profiler.start()
    dist.all_reduce(meet)
    train(*parts)
    dist.all_reduce(meet)
    torch.cuda.profiler.stop()


def traced(parts, file):
    """Run steps under torch.profiler, after others in which it begins."""
    with profile(schedule=schedule(wait=0, warmup=1, active=1)) as profiler:
        train(*parts)
        profiler.step()
        train(*parts)
    profiler.export_chrome_trace(str(file))


def main():
    """Run this process's part, after steps of warm-up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=json.loads, default={}, help="arguments of gpt2, as JSON")
    parser.add_argument("--traces", type=Path, required=not CUDA, help="folder, without nsys")
    arguments = parser.parse_args()
    if CUDA:
        torch.cuda.set_device(DEVICE)
    dist.init_process_group("cpu:gloo,cuda:nccl" if CUDA else "gloo")
    torch.manual_seed(dist.get_rank())
    workload = gpt2(DEVICE, **arguments.sizes)
    model = DistributedDataParallel(workload.model)
    parts = (workload, model, torch.optim.AdamW(model.parameters()))
    train(*parts)
    if arguments.traces:
        traced(parts, arguments.traces / f"rank{dist.get_rank()}.json.gz")
    else:
        under_nsys(parts)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
