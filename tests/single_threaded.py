"""Runs what is captured of a case, with backward on its main thread: see test_gpu.py."""

import torch

from workflow_src.measure.profiled_run import main

if __name__ == "__main__":
    torch.autograd.set_multithreading_enabled(False)
    main()
