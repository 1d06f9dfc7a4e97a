"""(b): the kernel with the most time in each part of a step, its calls, and what it multiplies."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.answers.among import Among, among
from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.example import example
from workflow_src.answers.left_out import NOTHING_KNOWN, left_out
from workflow_src.answers.matrix import in_columns, matrices
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.top_kernel.products import FORWARD, Product
from workflow_src.answers.top_kernel.top import (
    BACKWARD,
    TopKernel,
    rows_of_part,
    top_of_case,
)
from workflow_src.common import words
from workflow_src.paper.value import Cell, Joined, Value, total
from workflow_src.placing.kernel_words import MATRIX_PRODUCT

__all__ = ["TopKernel", "TopKernels", "result", "top_of_case"]

Tops = Mapping[str, TopKernel]
"""What leads each part of a case's step; parts that weren't captured are missing."""


@dataclass(frozen=True)
class Leader:
    """What the top kernel or product of most cases is, and of how many."""

    what: str
    cases: Among

    @property
    def cell(self) -> Cell:
        """As a table prints it: "cast to bf16, 13 of 20"."""
        return Joined((self.what, self.cases.cell), by=", ")


@dataclass(frozen=True)
class TopKernels:
    """What (b) found.

    `leader` is forward's over all cases, `leaders` that of each precision; `same` says how often
    backward's top kernel is forward's by its whole name. `matrices` have what leads forward, its
    calls and share in a cell, `every` a row for each case and part. `forward` and `backward` are
    the example's.
    """

    leader: Leader | None
    leaders: Mapping[str, Leader]
    same: Among
    matrices: tuple[pd.DataFrame, ...]
    summary: pd.DataFrame
    every: pd.DataFrame
    forward: TopKernel | None
    backward: TopKernel | None
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)


def result(tables: Tables) -> TopKernels:
    """Answer (b) from timings, kernels, captures, ranges and, where there is any, products."""
    tops = {case: tops_of(tables, case) for case in tables.cases}
    states = {case: rows_of_part(tables, case, FORWARD)[0] for case in tables.cases}
    columns = in_columns(tables.cases, tops)
    leaders = {name: leader(mine, FORWARD) for name, mine in columns.items()}
    chosen = example(tables)
    cells = {name: _cell(each) for name, each in leaders.items()}
    return TopKernels(
        leader=leader(tops.values(), FORWARD),
        leaders={name: each for name, each in leaders.items() if each},
        same=same(tops.values()),
        matrices=matrices(tables.cases, lambda case: cell(tops[case], states[case])),
        summary=summary({name: mine for name, mine in columns.items() if any(mine)}),
        every=every(tops.values()),
        forward=tops[chosen].get(FORWARD) if chosen else None,
        backward=tops[chosen].get(BACKWARD) if chosen else None,
        opening=(OpeningRow("(b) forward's top kernel", cells),),
        left_out=left_out(
            tables,
            {
                case: "ok" if FORWARD in tops[case] else _why_not(states[case])
                for case in tables.cases
            },
        ),
    )


def _why_not(state: str) -> str:
    return NOTHING_KNOWN if state == "ok" else state


def tops_of(tables: Tables, case: CaseKey) -> Tops:
    """What leads each part of a case's step."""
    found = {part: top_of_case(tables, case, part) for part in words.PARTS}
    return {part: top for part, top in found.items() if top}


def of_part(cases: Iterable[Tops], part: str) -> list[TopKernel]:
    """What leads a part of each case that has it."""
    return [tops[part] for tops in cases if part in tops]


def leader(cases: Iterable[Tops], part: str) -> Leader | None:
    """What most top kernels of a part do; None without any."""
    tops = of_part(cases, part)
    return most_often([top.kernel.what for top in tops], [top.kernel.ms for top in tops])


def together(cases: Iterable[Tops]) -> Leader | None:
    """What takes most of forward's time in most cases, all kernels that do the same together."""
    tops = of_part(cases, FORWARD)
    return most_often([top.by_what.what for top in tops], [top.by_what.ms for top in tops])


def top_products(cases: Iterable[Tops], part: str) -> Leader | None:
    """What the matrix product with the most time multiplies in most cases; None without any."""
    found = [top.product for top in of_part(cases, part) if top.product]
    return most_often([product.name for product in found], [product.ms for product in found])


def most_often(names: Sequence[str], values: Sequence[Value]) -> Leader | None:
    """The commonest name, and of several the first; `values` has one of each case."""
    counted = Counter(names)
    if not counted:
        return None
    first = min(counted, key=lambda name: (-counted[name], name))
    return Leader(first, among(values, [name == first for name in names]))


def same(cases: Iterable[Tops]) -> Among:
    """In how many cases backward's top kernel is forward's, by its whole name."""
    return compared(cases, lambda forward, backward: forward.kernel.name == backward.kernel.name)


def other_product(cases: Iterable[Tops]) -> Among:
    """In how many cases both top kernels are matrix products, but not the same kernel."""
    return compared(
        cases,
        lambda forward, backward: (
            forward.kernel.what == backward.kernel.what == MATRIX_PRODUCT
            and forward.kernel.name != backward.kernel.name
        ),
    )


def compared(cases: Iterable[Tops], alike: Callable[[TopKernel, TopKernel], bool]) -> Among:
    """In how many of the cases with both parts their top kernels are alike."""
    pairs = [(tops[FORWARD], tops[BACKWARD]) for tops in cases if {FORWARD, BACKWARD} <= set(tops)]
    times = [total([forward.kernel.ms, backward.kernel.ms]) for forward, backward in pairs]
    return among(times, [alike(*pair) for pair in pairs])


def cell(tops: Tops, state: str) -> Cell:
    """What leads forward, its calls and its share; or why there is nothing."""
    top = tops.get(FORWARD)
    if top is None:
        return None if state == "ok" else words.STATES[state]
    return Joined((top.kernel.what, ": ", top.kernel.calls, ", ", top.kernel.share), by="")


def summary(columns: Mapping[str, Sequence[Tops]]) -> pd.DataFrame:
    """What leads each part in the cases of each precision, and how backward compares."""
    every = list(columns.values())
    rows: list[list[Cell]] = [
        [f"{word}: the top kernel is a", *(_cell(leader(mine, part)) for mine in every)]
        for part, word in words.PARTS.items()
    ]
    rows.append(["forward: most time together", *(_cell(together(mine)) for mine in every)])
    products = [_cell(top_products(mine, FORWARD)) for mine in every]
    rows.append(["forward: the products of equal sizes with the most time", *products])
    rows.append(["backward has forward's top kernel", *(same(mine).cell for mine in every)])
    others = [other_product(mine).cell for mine in every]
    rows.append(["both are matrix products, by different kernels", *others])
    known = [row for row in rows if any(row[1:])]
    return pd.DataFrame(known, columns=["in how many cases", *columns], dtype="object")


def _cell(found: Leader | None) -> Cell:
    return found.cell if found else None


def every(cases: Iterable[Tops]) -> pd.DataFrame:
    """The top kernel of each case and part."""
    rows = [
        {
            "case": top.case.case,
            "part": words.PARTS[part],
            "kernel with the most time": top.kernel.short_name,
            "what it does": top.kernel.what,
            "calls": top.calls,
            "where": top.where,
            "ms": top.kernel.ms,
            "share": top.kernel.share,
            "most time by what it does": Joined((top.by_what.what, top.by_what.share), by=", "),
            "top matrix product": top.product and product_cell(top.product),
        }
        for tops in cases
        for part, top in tops.items()
    ]
    return pd.DataFrame(rows, dtype="object")


def product_cell(product: Product) -> Cell:
    """A product as a table prints it: "feed-forward gate and up: 48 (2 per layer), 8.7 %"."""
    return Joined((product.name, ": ", product.calls, ", ", product.share), by="")
