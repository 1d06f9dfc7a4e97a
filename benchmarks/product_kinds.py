"""How long products take in each precision and alignment, in the time of an aligned bf16 one.

The numbers TIMES and UNALIGNED of workflow_src/diagnosis/mechanisms/products.py are held against
this on a GPU. Sizes are those of a layer and of a language model's head; each time is the median of
runs in turns.
"""

import argparse
from statistics import median

import torch

SIZES = ((12288, 6144, 1536), (12288, 16384, 1536), (8192, 50304, 1024))
"""Rows, columns and the inner size of products."""

KINDS = {
    "bf16": (torch.bfloat16, 0, False),
    "fp16": (torch.float16, 0, False),
    "bf16, rows of 4 elements more": (torch.bfloat16, 4, False),
    "bf16, rows of 2 elements more": (torch.bfloat16, 2, False),
    "bf16, rows of 1 element more": (torch.bfloat16, 1, False),
    "tf32": (torch.float32, 0, True),
    "fp32": (torch.float32, 0, False),
    "fp64": (torch.float64, 0, False),
}
"""The type, what is added to the number of columns, and whether TF32 is allowed."""


def milliseconds(size: tuple[int, int, int], kind: str) -> float:
    """One product's time, of a batch of three after one that doesn't count."""
    rows, columns, inner = size
    dtype, more, tf32 = KINDS[kind]
    torch.backends.cuda.matmul.allow_tf32 = tf32
    left = torch.randn(rows, inner, device="cuda", dtype=dtype)
    right = torch.randn(columns + more, inner, device="cuda", dtype=dtype).t()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    left @ right
    begin.record()
    for _ in range(3):
        left @ right
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 3


def main() -> None:
    """Print a line per size and kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(torch.cuda.get_device_name(), torch.__version__)
    for size in SIZES:
        times: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind in KINDS:
                times[kind].append(milliseconds(size, kind))
        usual = median(times["bf16"])
        for kind, found in times.items():
            print(f"{size}: {kind:32} {median(found):9.3f} ms, {median(found) / usual:6.2f} times")


if __name__ == "__main__":
    main()
