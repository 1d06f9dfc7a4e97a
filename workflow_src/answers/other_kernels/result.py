"""(c): the forward pass's device time besides matrix products: where, on what, by case."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.answers.among import Among, among
from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.components import in_model_order
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.example import example
from workflow_src.answers.kernels import calls, grouped
from workflow_src.answers.left_out import NOTHING_KNOWN, left_out, without_disturbed
from workflow_src.answers.matrix import by_precision, matrices
from workflow_src.answers.other_kernels.changes import between_precisions, over_contexts
from workflow_src.answers.other_kernels.passes import (
    ComponentShare,
    Pass,
    components,
    components_of_case,
    forward_pass,
)
from workflow_src.answers.other_kernels.weight_casts import weight_casts
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.common.components import COMPONENTS
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN
from workflow_src.paper.value import Cell, Joined, Value, median, spread

__all__ = ["ComponentShare", "OtherKernels", "components_of_case", "result"]

MOST = 0.5
"""Above this share of device time, all else takes more than matrix products."""


COMPILE, SDPA = "compile", "sdpa, compile"
TRIED = {
    COMPONENTS[name].name: remedies
    for names, remedies in (
        (("scores", "softmax", "values"), SDPA),
        (("norm", "rotary", "feed_forward", "block"), COMPILE),
    )
    for name in names
}
"""The remedies of (f) that leave out or fuse what a component runs besides products.

Fused attention takes the place of scores, mask, softmax and values; the others' elementwise kernels
and reductions are what a compiler fuses.
"""


@dataclass(frozen=True)
class OtherKernels:
    """What (c) found.

    `over_half` says in how many cases all but matrix products takes most of the time, `medians` its
    share by precision; `leader` is the component that most often has most of it. Of the tables,
    `components` and `operations` have medians by precision, `worked` the example's components, and
    `every` the components of every case.
    """

    over_half: Among
    medians: Mapping[str, Value]
    leader: str
    leads: Among
    matrices: tuple[pd.DataFrame, ...]
    components: pd.DataFrame
    operations: pd.DataFrame
    precisions: pd.DataFrame
    contexts: pd.DataFrame
    weight_casts: tuple[pd.DataFrame, ...]
    fused: bool
    example: CaseKey | None
    worked: pd.DataFrame
    every: pd.DataFrame
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)
    only_disturbed: bool = False


def result(tables: Tables) -> OtherKernels:
    """Answer (c) from timings, kernels, captures and, where there are any, operators."""
    passes = {case: forward_pass(tables, case) for case in tables.cases}
    counted = undisturbed(tables)
    known = [passes[case] for case in counted if passes[case].others_share]
    precisions = by_precision(counted)
    columns = {
        name: known_here
        for name, mine in precisions.items()
        if (known_here := [passes[case] for case in mine if passes[case].others_share])
    }
    medians = {name: median(e.others_share for e in mine) for name, mine in columns.items()}
    cells: dict[str, Cell] = {name: medians.get(name) for name in precisions}
    leader, leads = leading(known)
    chosen = example(tables)
    every = {case: components(found) for case, found in passes.items()}
    return OtherKernels(
        over_half=among([e.others_share for e in known], [_over_half(e) for e in known]),
        medians={name: each for name, each in medians.items() if each},
        leader=leader,
        leads=leads,
        matrices=matrices(tables.cases, lambda case: cell(passes[case])),
        components=by_component(columns),
        operations=shares(columns, lambda each: each.by_what),
        precisions=between_precisions(columns),
        contexts=over_contexts(columns),
        weight_casts=matrices(tables.cases, lambda case: weight_casts(tables, passes[case])),
        fused=any((each.rows["family"] == "attention").any() for each in known),
        example=chosen,
        worked=worked(every[chosen], passes[chosen]) if chosen else pd.DataFrame(),
        every=table_of_all(every),
        opening=(OpeningRow("(c) forward's device time besides products", cells),),
        left_out=left_out(
            tables, without_disturbed(tables, {case: _state(each) for case, each in passes.items()})
        ),
        only_disturbed=not known and any(each.others_share for each in passes.values()),
    )


def _state(found: Pass) -> str:
    """Why a case has no share; "ok" if it has."""
    if found.others_share:
        return "ok"
    return NOTHING_KNOWN if found.state == "ok" else found.state


def _over_half(found: Pass) -> bool:
    return found.others_share is not None and found.others_share.number > MOST


def leading(passes: Sequence[Pass]) -> tuple[str, Among]:
    """The component that most often has the most time besides products, and in how many cases."""
    known = [each for each in passes if each.by_component]
    leaders = [next(iter(each.by_component)) for each in known]
    counted = Counter(leaders)
    first = min(counted, key=lambda name: (-counted[name], name), default="")
    return first, among([each.others_share for each in known], [name == first for name in leaders])


def cell(found: Pass) -> Cell:
    """The share besides products, and its largest part with its own; or why there is none."""
    if found.others_share is None:
        return words.STATES[found.state] if found.state != "ok" else None
    largest = next(iter(found.by_component.items()), None)
    if largest is None:
        return found.others_share
    name, rows = largest
    return Joined((found.others_share, Joined((name, found.share(rows)), " ")), ": ")


def shares(
    columns: Mapping[str, Sequence[Pass]],
    groups: Callable[[Pass], Mapping[str, pd.DataFrame]],
    order: Callable[[Iterable[str]], list[str]] | None = None,
) -> pd.DataFrame:
    """Shares of the pass besides products, in medians: by component, or by what kernels do.

    In an order, or the largest first; those that matter nowhere are left out.
    """
    names = {name for mine in columns.values() for each in mine for name in groups(each)}
    found = {
        name: [median(each.share(groups(each).get(name)) for each in m) for m in columns.values()]
        for name in names
    }
    largest = {
        name: max((e.number for e in mine if e), default=0.0) for name, mine in found.items()
    }
    ordered = order(names) if order else sorted(names, key=lambda name: (-largest[name], name))
    rows: list[list[Cell]] = [
        [name, *found[name]] for name in ordered if largest[name] >= LEAST_SHARE_SHOWN
    ]
    return pd.DataFrame(rows, columns=["besides matrix products", *columns], dtype="object")


def by_component(columns: Mapping[str, Sequence[Pass]]) -> pd.DataFrame:
    """The shares of components, and below them that of all together."""
    parts = shares(columns, lambda each: each.by_component, in_model_order)
    tried = [TRIED.get(name) for name in parts.iloc[:, 0]]
    if any(tried):
        parts["remedy in (f)"] = pd.Series(tried, parts.index, dtype="object")
    together = [spread(each.others_share for each in mine) for mine in columns.values()]
    rest = [None] * (len(parts.columns) - len(together) - 1)
    label = "together: median (least to most)"
    last = pd.DataFrame([[label, *together, *rest]], columns=parts.columns)
    return pd.concat([parts, last.astype("object")]) if any(together) else parts


def worked(parts: Sequence[ComponentShare], found: Pass) -> pd.DataFrame:
    """The components of one case, and what runs in each besides products."""
    rows = [
        {
            "component": part.name,
            "ms": part.ms,
            "share of the pass": part.share,
            "besides products": part.besides,
            "calls besides products": operations(found.by_component.get(part.name)),
        }
        for part in parts
    ]
    return pd.DataFrame(rows, dtype="object")


def operations(rows: pd.DataFrame | None) -> Cell:
    """What rows besides products do, most time first: "36 division, 36 sum"."""
    if rows is None:
        return None
    each = (Joined((calls(mine), what), by=" ") for what, mine in grouped(rows, "what").items())
    return Joined(tuple(each), by=", ")


def table_of_all(cases: Mapping[CaseKey, Sequence[ComponentShare]]) -> pd.DataFrame:
    """Each case's components: their share of the pass, and what of it isn't a matrix product."""
    names = in_model_order(part.name for parts in cases.values() for part in parts)
    rows = []
    for case, parts in cases.items():
        found = {part.name: part for part in parts}
        cells = {name: _both(found.get(name)) for name in names}
        rows += [{"case": case.case, **cells}] if parts else []
    return pd.DataFrame(rows, dtype="object")


def _both(part: ComponentShare | None) -> Cell:
    return Joined((part.share, part.besides), by=" / ") if part else None
