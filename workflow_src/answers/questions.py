"""The questions and figures: which folder of this package answers each, and from which tables.

Imports nothing heavy, because the Snakefile takes the inputs of its rules from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question's folder in this package, its title, and its tables, names without ".csv".

    An optional table is empty where an older run lacks it. It is no input of the question's rule:
    one rule makes all tables together, so it is never older than those that are. `ceilings`, which
    has a rule of its own, is one: see `_chapter` in dag/report.py. The tables of `studies` are
    inputs where the run chose the study, and empty where it never ran.
    """

    room: str
    title: str
    tables: tuple[str, ...]
    optional: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()


QUESTIONS: dict[str, Question] = {
    "a": Question(
        "forward_time",
        "How long is the forward pass, and does the profiler agree with plain timing?",
        ("timings", "ranges", "captures", "kernels"),
        optional=("ledger",),
    ),
    "b": Question(
        "top_kernel",
        "Which kernel takes the most time, and how often is it called?",
        ("timings", "kernels", "captures", "ranges"),
        optional=("products",),
    ),
    "c": Question(
        "other_kernels",
        "What besides matrix products takes time in the forward pass?",
        ("timings", "kernels", "captures"),
        optional=("operators", "environments"),
    ),
    "d": Question(
        "gemm_share",
        "How does the share of matrix products change from inference to training?",
        ("timings", "kernels", "captures"),
        optional=("operators", "ceilings", "environments"),
    ),
    "e": Question(
        "softmax",
        "Softmax against the matrix products of attention: time and FLOPs",
        ("timings", "kernels", "captures", "work"),
        optional=("operators", "ceilings", "environments"),
    ),
    "f": Question(
        "change_first",
        "What should one change first?",
        ("timings", "ranges", "kernels", "captures"),
        optional=("ledger", "environments", "remedies"),
        studies=("levers",),
    ),
}

CARDS = Question(
    "cards",
    "One case at a time",
    ("timings", "ranges", "kernels", "captures", "work"),
    optional=(
        *("ledger", "products", "environments", "ceilings", "operators", "remedies"),
        "findings",
    ),
    studies=("levers",),
)
"""The table of each case: not a question, but made from tables in the same way."""

OPENING = Question(
    "opening",
    "The report's first screen",
    ("timings", "ranges", "kernels", "captures", "environments", "work"),
    optional=("ledger", "operators", "ceilings", "products"),
)

FRONT: dict[str, Question] = {
    "cases": Question(
        "cases",
        "All cases",
        ("timings", "ranges", "kernels", "captures", "work"),
        ("environments", "ledger"),
    ),
    "trust": Question(
        "trust",
        "Can these numbers be trusted?",
        ("timings", "kernels", "captures", "environments"),
        optional=("alignment",),
    ),
    "ran": Question(
        "ran",
        "What was run, and what is missing",
        ("timings", "kernels", "captures", "environments"),
        optional=("ceilings",),
    ),
}
"""The chapters of the report beside its answers, each a module of report/, in their order."""

REPORT_TABLES = ("timings", "ranges", "kernels", "captures", "environments")
