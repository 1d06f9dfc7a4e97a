"""The questions and figures: which folder of this package answers each, and from which tables.

Imports nothing heavy, because the Snakefile takes the inputs of its rules from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question's folder and its tables, without ".csv".

    An optional table is empty where an older run lacks it. It is no input of the question's rule:
    one rule makes all tables together, so it is never older than those that are. `ceilings` has a
    rule of its own: see `_chapter` in dag/report.py. The tables of `studies` are inputs where the
    run chose the study, and empty where it never ran.
    """

    room: str
    tables: tuple[str, ...]
    optional: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()


QUESTIONS: dict[str, Question] = {
    "a": Question("forward_time", ("timings", "ranges", "captures", "kernels"), ("ledger",)),
    "b": Question("top_kernel", ("timings", "kernels", "captures")),
    "c": Question(
        "other_kernels", ("timings", "kernels", "captures"), ("operators", "environments")
    ),
    "d": Question(
        "gemm_share",
        ("timings", "kernels", "captures"),
        ("operators", "ceilings", "environments"),
    ),
    "e": Question(
        "softmax",
        ("timings", "kernels", "captures", "work"),
        ("operators", "ceilings", "environments"),
    ),
    "f": Question(
        "change_first",
        ("timings", "ranges", "kernels", "captures"),
        ("ledger", "environments", "remedies"),
        studies=("levers",),
    ),
}

CARDS = Question(
    "cards",
    ("timings", "ranges", "kernels", "captures", "work"),
    ("ledger", "environments", "ceilings", "operators", "remedies", "findings"),
    studies=("levers",),
)

OPENING = Question(
    "opening",
    ("timings", "ranges", "kernels", "captures", "environments", "work"),
    ("ledger", "operators", "ceilings"),
)

FRONT: dict[str, Question] = {
    "cases": Question(
        "cases",
        ("timings", "ranges", "kernels", "captures", "work"),
        ("environments", "ledger"),
    ),
    "trust": Question("trust", ("timings", "kernels", "captures", "environments"), ("alignment",)),
    "ran": Question("ran", ("timings", "kernels", "captures", "environments"), ("ceilings",)),
}
"""The chapters of the report beside its answers, modules of report/, in order."""

REPORT_TABLES = ("timings", "ranges", "kernels", "captures", "environments")
