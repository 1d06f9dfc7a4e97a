"""The questions and figures: the module that answers each question, and the tables they read.

Imports nothing heavy, because the Snakefile takes the inputs of its rules from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question's module in this package, and the names of its tables without ".csv"."""

    module: str
    tables: tuple[str, ...]


QUESTIONS: dict[str, Question] = {
    "a": Question("forward_time", ("timings", "ranges", "captures")),
    "b": Question("top_kernel", ("timings", "kernels", "captures", "ranges")),
    "c": Question("other_kernels", ("timings", "kernels", "captures")),
    "d": Question("gemm_share", ("timings", "kernels", "captures")),
    "e": Question("softmax_matmul", ("timings", "kernels", "captures", "work")),
    "f": Question("change_first", ("timings", "ranges", "kernels", "captures")),
}

FIGURES: dict[str, tuple[str, ...]] = {
    "forward_time": ("timings",),
    "family_shares": ("timings", "kernels", "captures"),
    "softmax_matmul": ("timings", "kernels", "captures", "work"),
}

REPORT_TABLES = ("timings", "ranges", "kernels", "captures", "environments")
