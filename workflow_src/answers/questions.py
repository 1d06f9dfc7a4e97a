"""The questions and figures: the module that answers each question, and the tables they read.

Imports nothing heavy, because the Snakefile takes the inputs of its rules from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question's module in this package, and the names of its tables without ".csv".

    An optional table is empty where an older run lacks it. It is no input of the question's rule:
    one rule makes all tables together, so it is never older than those that are. `ceilings`, which
    has a rule of its own, is one: see `inputs` in dag/answers.py. The tables of `studies` are
    inputs where the run chose the study, and empty where it never ran.
    """

    module: str
    tables: tuple[str, ...]
    optional: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()

    @property
    def every_table(self) -> tuple[str, ...]:
        """All tables that the module's `answer` takes."""
        return (*self.tables, *self.optional, *self.studies)


AS_RAN = ("operators", "ceilings")
"""Bytes by the shapes that ran, and the rates to hold them against."""

QUESTIONS: dict[str, Question] = {
    "a": Question(
        "forward_time",
        ("timings", "ranges", "captures"),
        optional=("ledger", "launches", "api_calls", "environments"),
    ),
    "b": Question(
        "top_kernel", ("timings", "kernels", "captures", "ranges"), optional=("products",)
    ),
    "c": Question("other_kernels", ("timings", "kernels", "captures"), AS_RAN),
    "d": Question("gemm_share", ("timings", "kernels", "captures")),
    "e": Question("softmax_matmul", ("timings", "kernels", "captures", "work"), AS_RAN),
    "f": Question(
        "change_first",
        ("timings", "ranges", "kernels", "captures"),
        optional=("environments",),
        studies=("levers",),
    ),
}

FIGURES: dict[str, tuple[str, ...]] = {
    "forward_time": ("timings", "environments", "ranges"),
    "component_shares": ("timings", "kernels", "captures"),
    "family_shares": ("timings", "kernels", "captures"),
    "softmax_matmul": ("timings", "kernels", "captures", "work"),
}

REPORT_TABLES = ("timings", "ranges", "kernels", "captures", "environments")
