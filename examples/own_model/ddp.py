"""GPT-2 small trained in data parallel, with ranges for nsys or torch.profiler: see README.md.

torchrun --nproc-per-node 2 examples/own_model/ddp.py --traces FOLDER
"""

import argparse
import os
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from models import gpt2
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function

CUDA = torch.cuda.is_available()


@contextmanager
def range_(name):
    """A range for torch.profiler, and on a GPU an NVTX range for nsys."""
    with record_function(name), torch.cuda.nvtx.range(name) if CUDA else record_function(""):
        yield
