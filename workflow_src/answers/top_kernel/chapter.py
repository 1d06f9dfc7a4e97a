"""(b): the kernel with the most time in each part of a step, its calls, and what it multiplies."""

from typing import Any

import pandas as pd

from workflow_src.answers.facts import captured, example, main
from workflow_src.answers.top_kernel.tops import BACKWARD, FORWARD, tops
from workflow_src.common.words import PARTS, STATES
from workflow_src.paper.number import NAN, Numbers, holds, of
from workflow_src.paper.run import Run, matrices
from workflow_src.paper.written import Facts
from workflow_src.placing.kernel_words import MATRIX_PRODUCT


def facts(run: Run) -> Facts:
    """What the template says of top kernels."""
    found, cases = tops(run), run.cases
    part = {name: found[found.index.get_level_values("part") == name] for name in PARTS}
    part = {name: mine.droplevel("part") for name, mine in part.items()}
    forward = part[FORWARD].reindex(cases.index)
    cells = [(w, ": ", c, ", ", s) for w, c, s in forward[["what", "calls", "share"]].to_numpy()]
    cells = pd.Series(cells, cases.index, dtype=object)
    state = captured(run, FORWARD).map(STATES).astype(object)
    chosen = example(run, part[FORWARD].index)
    return leaders(run, part) | {
        "matrices": matrices(cases, cells.where(forward["what"].notna(), state)),
        "summary": summary(run, part),
        "example": chosen and cases["label"][chosen],
        "top": part[FORWARD].loc[chosen] if chosen else None,
        "backward": part[BACKWARD].loc[chosen] if chosen in part[BACKWARD].index else None,
        "every": found.reset_index().assign(part=found.index.get_level_values("part").map(PARTS)),
        "opening": medians(run, {"(b) forward's top kernel": (forward["what"], forward["ms"])}),
    }


def most(what: pd.Series, ms: Numbers) -> Any:
    """What is true of most cases, and of how many: ("sum", ", ", 13 of 20); of several the first."""
    counts = what[ms.notna()].value_counts()
    first = min(counts.index, key=lambda each: (-counts[each], each), default="")
    return (first, ", ", of(holds(ms, what == first, f"{first}"), "count")) if first else NAN


def medians(run: Run, rows: dict[str, tuple[pd.Series, Numbers]]) -> pd.DataFrame:
    """A row for what is true of most cases, a column per precision."""
    precision = run.cases["precision"]
    cells = [
        [
            label,
            *(
                most(what[mine], ms[mine])
                for name in run.precisions
                if (mine := precision.reindex(what.index) == name) is not None
            ),
        ]
        for label, (what, ms) in rows.items()
    ]
    return pd.DataFrame(cells, columns=["in how many cases", *run.precisions], dtype=object)


def compared(part: dict[str, pd.DataFrame]) -> tuple[Numbers, pd.Series, pd.Series]:
    """Of cases with both parts: time of both, whether it is one kernel, and whether both multiply."""
    forward, backward = part[FORWARD].align(part[BACKWARD], join="inner", axis=0)
    both = (forward["what"] == MATRIX_PRODUCT) & (backward["what"] == MATRIX_PRODUCT)
    same = forward["name"] == backward["name"]
    return forward["ms"] + backward["ms"], same, both & ~same


def summary(run: Run, part: dict[str, pd.DataFrame]) -> pd.DataFrame:
    forward = part[FORWARD]
    made = medians(
        run,
        {
            f"{word}: the top kernel is a": (part[name]["what"], part[name]["ms"])
            for name, word in PARTS.items()
        }
        | {
            "forward: most time together": (forward["together"], forward["together_ms"]),
            "forward: the products of equal sizes with the most time": (
                forward["product"],
                forward["product_ms"],
            ),
        },
    )
    ms, same, both = compared(part)
    rows = []
    for label, mask in (
        ("backward has forward's top kernel", same),
        ("both are matrix products, by different kernels", both),
    ):
        cells = holds(ms, mask, label)
        precision = run.cases["precision"].reindex(cells.index)
        rows.append([label, *(of(cells[precision == name], "count") for name in run.precisions)])
    more = pd.DataFrame(rows, columns=made.columns, dtype=object)
    return pd.concat([made, more])


def leaders(run: Run, part: dict[str, pd.DataFrame]) -> Facts:
    forward = part[FORWARD]
    first = most(forward["what"], forward["ms"])
    each = medians(run, {"": (forward["what"], forward["ms"])}).iloc[0, 1:]
    each = {name: cell for name, cell in each.items() if cell == cell}
    ms, same, _ = compared(part)
    said = [
        part
        for name, (what, _, count) in each.items()
        for part in (", ", what, f" in {name} (", count, ")")
    ]
    if first != first:
        verdict = "can't tell"
    elif ms.empty:
        verdict = "forward alone"
    elif first[2].value == int(first[2].unit.split()[1]):
        verdict = "one kind"
    else:
        verdict = "by precision" if len({what for what, *_ in each.values()}) > 1 else "mixed"
    return {
        "verdict": verdict,
        "what": first[0] if first == first else "",
        "cases": first[2] if first == first else NAN,
        "leaders": tuple(said[1:]),
        "same": of(holds(ms, same, "same"), "count"),
    }


if __name__ == "__main__":
    main("b", facts)
