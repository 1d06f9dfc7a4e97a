"""The answer to (d).

Backward's part of the change is from the forward pass to a training step without its optimizer, the
optimizer's from there to the whole step.
"""

import pandas as pd

from workflow_src.answers.ceilings import memory, memory_bound
from workflow_src.answers.drawn import bars
from workflow_src.answers.facts import (
    PRODUCTS,
    captured,
    example,
    kernels,
    main,
    product_share,
    shown_of_all,
)
from workflow_src.common.thresholds import MOSTLY, SHARES_REPEAT_WITHIN
from workflow_src.common.words import OPTIMIZERS, PHASES
from workflow_src.paper.figures import Plot
from workflow_src.paper.number import Numbers, count, holds, named, of, over, to
from workflow_src.paper.run import Quantities, Run, medians, wide
from workflow_src.paper.written import Facts

BEFORE, AFTER = "forward", "train_step"
PARTS = ("forward", "loss", "backward", "optimizer")
"""The ranges right below a step's."""

ADAM_FLOPS = 15
"""Of AdamW, per parameter: 3 for the first moment, 4 for the second, 2 for decay, 6 for the step
(Loshchilov and Hutter, Decoupled weight decay regularization, 2019, algorithm 2). SGD takes fewer.
"""

LEAST_BYTES = 28
"""Per parameter, of any AdamW in float32: it reads four numbers and writes three."""

MORE = 1.1
"""An optimizer moves more than it must from so many times LEAST_BYTES on."""


def facts(run: Run) -> Facts:
    """What the template says."""
    cases = changes(run)
    both = cases[cases["points"].notna()]
    falls = both["points"] < -SHARES_REPEAT_WITHIN
    rises = both["points"] > SHARES_REPEAT_WITHIN
    known = both[falls & both["by_optimizer"].notna()]
    more = known["by_optimizer"] < known["by_backward"]
    falling = holds(both["points"], falls, "points < -1 %")
    bound = memory_bound(run, both["rate"], both["computes"])
    chosen = example(run, cases.index[cases["optimizer_ms"].notna()])
    names = both["optimizer"].map(lambda name: OPTIMIZERS.get(name, "the optimizer"))
    opened = {
        "(d) matrix products' share of a forward pass": (both["before"], "median"),
        "(d) matrix products' share of a training step": (both["after"], "median"),
    }
    return shown_of_all(run, cases, both, "after") | {
        "verdict": verdict(len(both), falls.sum(), rises.sum(), len(known), more.sum()),
        "bound": of(bound, "count") >= len(both) / 2,
        "falling": of(falling, "count"),
        "rising": count(both["points"], rises, "points > 1 %"),
        "by_optimizer": count(known["by_optimizer"], more, "the optimizer's < backward's"),
        "memory": memory(run),
        "of_memory": of(both["of_memory"], "median"),
        "each": (moved := of(both["each"], "median")),
        "more": moved > MORE * LEAST_BYTES,
        "adamw": bool(both["optimizer"].isin([*OPTIMIZERS]).any()),
        "optimizer": " or ".join(names.unique()),
        "summary": summary(both, falling, bound),
        "example": cases.loc[chosen] if chosen else None,
        "figure": figure(run),
        "opening": medians(both, opened),
    }


def step_rows(run: Run) -> pd.DataFrame:
    """The kernels of training steps with their `part`, one of PARTS or `elsewhere`."""
    rows = kernels(run, AFTER)
    below = rows["path"].str.split("/").str[1]
    return rows.assign(part=below.where(below.isin(PARTS), "elsewhere").astype(object))


def changes(run: Run) -> pd.DataFrame:
    """A row per case: products' share before and after, points by what; the optimizer's time,
    share, bytes (GB, and `each` parameter's) and rates; backward over forward; `state`."""
    forward, step = kernels(run, BEFORE), step_rows(run)
    cases, is_product = run.cases, step["family"].isin(PRODUCTS)
    ranges = named(wide(over(step, ["case", "part"], "ms"), cases.index, PARTS))
    apart = ranges["backward"].notna() & ranges["optimizer"].notna()
    parts = {"before": forward, "after": step, "middle": step[step["part"] != "optimizer"]}
    share = {name: product_share(rows) for name, rows in parts.items()}
    shares = named(pd.DataFrame(share, dtype=object).reindex(cases.index))
    before, after, middle = shares["before"], shares["after"], shares["middle"].where(apart)
    moved = run.of_phase("operators", AFTER)
    moved = moved[moved["path"].str.split("/").str[1] == "optimizer"]
    known = moved[moved["bytes_per_step"] > 0]
    timed = run["timings"].assign(flops=run["timings"]["parameters"] * ADAM_FLOPS)
    # Where parameters weren't counted, at most so many as the bytes would be of.
    known = known.assign(flops=known["bytes_per_step"] / LEAST_BYTES * ADAM_FLOPS)

    def of_case(rows: pd.DataFrame, column: str, unit: str, how: str = "sum") -> Numbers:
        return over(rows, "case", column, how, unit).reindex(cases.index).astype(object)

    flops = of_case(timed, "flops", "flops", "max").combine_first(of_case(known, "flops", "flops"))
    gb, took = of_case(known, "bytes_per_step", "bytes"), of_case(known, "busy_ms_per_step", "ms")
    found = cases.assign(
        state=captured(run, BEFORE).mask(captured(run, BEFORE) == "ok", captured(run, AFTER)),
        before=before,
        after=after,
        points=to(after - before, "points"),
        by_backward=to(middle - before, "points"),
        by_optimizer=to(after - middle, "points"),
        optimizer_ms=ranges["optimizer"],
        optimizer_share=to(ranges["optimizer"] / of_case(step, "ms", "ms"), "share"),
        gb=to(gb, "GB"),
        each=gb / of_case(timed, "parameters", "", "max"),
        rate=to(gb / took, "GB/s"),
        computes=to(flops / took, "TFLOP/s"),
        products_times=backward_over_forward(step[is_product]),
        all_times=backward_over_forward(step),
        else_times=backward_over_forward(step[~is_product]),
    )
    return found.assign(of_memory=to(found["rate"] / memory(run), "share"))


def backward_over_forward(rows: pd.DataFrame) -> Numbers:
    """By case backward's device time over forward's, of some of a step's kernels."""
    ms = wide(over(rows, ["case", "part"], "ms"), columns=["forward", "backward"])
    return ms["backward"] / ms["forward"]


def verdict(both: int, falls: int, rises: int, known: int, by_optimizer: int) -> str:
    """Which headline holds, by numbers of cases."""
    if not both:
        return "can't tell"
    if falls < MOSTLY * both:
        return "depends" if falls else "rises or same"
    if not known or (1 - MOSTLY) * known < by_optimizer < MOSTLY * known:
        return "falls"
    return "by the optimizer" if by_optimizer > known / 2 else "by backward"


def summary(both: pd.DataFrame, falls: Numbers, bound: Numbers) -> pd.DataFrame:
    """The table of medians."""
    rows: Quantities = {
        "products' share of a forward pass": both["before"],
        "products' share of a training step": both["after"],
        "it falls by over 1 point in": (falls, "count"),
        "backward changes it by, points": both["by_backward"],
        "the optimizer changes it by, points": both["by_optimizer"],
        "the optimizer's share of a step": both["optimizer_share"],
        "the optimizer reads and writes, GB": both["gb"],
        "bytes a parameter": both["each"],
        "its rate, GB/s": both["rate"],
        "its rate / memory's measured rate": both["of_memory"],
        "the optimizer is memory-bound in": (bound, "count"),
        "products, backward / forward": both["products_times"],
        "all else, backward / forward": both["else_times"],
        "device time, backward / forward": both["all_times"],
    }
    return medians(both, rows)


def figure(run: Run) -> Plot:
    """The share of each family and of the optimizer, before and after."""
    rows = pd.concat([kernels(run, BEFORE), step_rows(run)])
    part = rows["family"].where(rows["part"] != "optimizer", "optimizer")
    titles = {name: f"{PHASES[name]} ({{}})" for name in (BEFORE, AFTER)}
    return bars(run, rows.assign(part=part), titles, "no device time was measured", 2)


if __name__ == "__main__":
    main("d", facts)
