"""The forward and backward passes of recorded steps, told by products and by threads.

Products of the loop's own thread are forward's; backward's are launched by autograd's thread. So
nothing is told of a program whose autograd runs on the loop's thread.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.finding import Subject

PRODUCTS = ("gemm", "attention")


@dataclass(frozen=True, eq=False)
class Run:
    """Products without others of the other kind between them: rows of calls, names in order.

    forward: whether the loop's own thread launched them.
    """

    forward: bool
    calls: Indices
    names: tuple[str, ...]


def runs(subject: Subject) -> list[Run]:
    """The runs of products in order of launch."""
    work = subject.work
    products = work[work["family"].isin(PRODUCTS)]
    thread = subject.calls["thread"].reindex(products["call"]).to_numpy()
    beside = subject.calls["beside"].reindex(products["call"]).to_numpy(dtype=bool)
    products = products.assign(forward=thread == subject.loop_thread)[~beside]
    number = (products["forward"] != products["forward"].shift()).cumsum()
    return [
        Run(bool(run["forward"].iloc[0]), run["call"].to_numpy(), tuple(run["name"]))
        for _, run in products.groupby(number)
    ]


def repeated(names: tuple[str, ...], shortest: float) -> int:
    """How many times these are a repetition of one sequence of at least so many names; else 1."""
    count = len(names)
    for length in range(max(int(np.ceil(shortest)), 1), count // 2 + 1):
        if count % length == 0 and names[:length] * (count // length) == names:
            return count // length
    return 1


def begins_anew(subject: Subject, run: Run, product: int) -> bool:
    """Whether before this product of a forward run comes what comes between no others before it.

    So a second pass is told from the next of layers that are all alike.
    """
    calls = own_launches(subject, True)
    rows, names = calls.index.to_numpy(), calls["launched"].to_numpy()
    at = np.searchsorted(rows, run.calls[: product + 1])
    between = [set(names[one + 1 : other]) for one, other in pairwise(at.tolist())]
    return not between[-1] <= set().union(*between[:-1])


def own_launches(subject: Subject, forward: bool) -> pd.DataFrame:
    """The rows of Subject.own that launch work, of one kind of thread."""
    calls = subject.own[subject.own.index.isin(subject.work["call"])]
    return calls[(calls["thread"] == subject.loop_thread) == forward]


def begins(subject: Subject, first: int, second: int) -> tuple[int, int]:
    """Where two passes begin whose first products are these calls.

    As long as the calls before both launch the same, they belong to the passes.
    """
    calls = own_launches(subject, True)
    rows, names = calls.index.to_numpy(), calls["launched"].to_numpy()
    one, other = (int(np.searchsorted(rows, call)) for call in (first, second))
    while one > 0 and other - 1 > one and names[one - 1] == names[other - 1]:
        one, other = one - 1, other - 1
    return int(rows[one]), int(rows[other])
