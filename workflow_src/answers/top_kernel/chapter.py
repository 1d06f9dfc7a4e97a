"""The answer to (b)."""

import pandas as pd

from workflow_src.answers.facts import captured, example, leader, led, main
from workflow_src.answers.top_kernel.tops import BACKWARD, BOTH, FORWARD, tops
from workflow_src.common.words import PARTS, STATES
from workflow_src.paper.number import holds, of
from workflow_src.paper.run import Run, across, first, matrices, precisions_of
from workflow_src.paper.written import Facts

SHOWN = {FORWARD: "the forward pass", BACKWARD: "backward", "train_step": "a training step"}

FIRST = "(b) forward: kernel that takes most"

ALIKE = {
    BACKWARD: "same kernel first in forward and backward, in",
    BOTH: "same in forward and forward + backward, in",
}
"""Parts whose top kernel is held against forward's."""


def facts(run: Run) -> Facts:
    """What the template says."""
    (found, places), cases = tops(run), run.cases
    parts = found.index.get_level_values("part")
    part = {name: found[parts == name].droplevel("part") for name in PARTS}
    forward, backward = part[FORWARD], part[BACKWARD]
    state = captured(run, FORWARD).replace("ok", "not_measured").map(STATES).astype(object)
    does = forward["what"].map(lambda what: (what,))
    chosen = example(run, forward.index)
    by_precision = {name: leading(mine, cases) for name, mine in part.items()}
    told = by_precision[FORWARD]
    kinds = forward["what"].groupby(cases["precision"].reindex(forward.index)).nunique()
    differing = cases[cases["precision"].map(kinds) != 1]
    every = found.assign(case=found.index.get_level_values("case"), part=parts.map(PARTS))
    return headline(most_often(forward), told) | {
        "summary": summary(run, by_precision, part),
        "matrices": matrices(differing, does.reindex(differing.index).fillna(state)),
        "calls": matrices(cases, forward["calls"].reindex(cases.index).fillna(state)),
        "example": cases["label"].get(chosen, ""),
        "chosen": chosen,
        "top": first(forward[forward.index == chosen]),
        "where": said(places.loc[[(chosen, FORWARD)]]) if chosen else "",
        "backward": first(backward[backward.index == chosen]),
        "every": every,
        "opening": across({FIRST: led(told["what"], told["leads"])}, run.precisions),
    }


def most_often(part: pd.DataFrame) -> pd.Series:
    """What the top kernel does in most cases, in how many it `leads`, its calls and share."""
    what, leads = leader(part["what"], part["ms"], "the top kernel is of the kind {}")
    of_it = {name: of(part[name][part["what"] == what]) for name in ("calls", "share")}
    return pd.Series({"what": what, "leads": leads, **of_it}, dtype=object)


def leading(part: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """What is `most_often` in each precision."""
    precision = cases["precision"].reindex(part.index)
    names = [name for name in precisions_of(cases) if (precision == name).any()]
    rows = [most_often(part[precision == name]) for name in names]
    columns = ["what", "leads", "calls", "share"]
    return pd.DataFrame(rows, index=names, columns=columns, dtype=object)


def same(forward: pd.DataFrame, part: pd.DataFrame) -> pd.Series:
    """By case whether another part's top kernel is forward's."""
    one, other = forward.align(part, join="inner", axis=0)
    return holds(one["ms"] + other["ms"], one["name"] == other["name"], "both names are equal")


def headline(every: pd.Series, told: pd.DataFrame) -> Facts:
    """The verdict, with what leads in the first precision and in the last."""
    one, last = first(told), first(told[::-1])
    kinds = told["what"].nunique()
    always = kinds == 1 and every["leads"].value == int(every["leads"].unit.removeprefix("of "))
    verdict = "one kind" if always else "by precision" if one["what"] != last["what"] else "mixed"
    names = [str(each["what"]) for each in (every, one, last)]
    return {
        "verdict": verdict if kinds else "can't tell",
        "leads": every["leads"],
        "one": one,
        "last": last,
        "kinds": [f"{'an' if what[:1] in 'aeiou' else 'a'} {what}" for what in names],
        "precisions": [*told.index[:1], *told.index[-1:]],
    }


def summary(
    run: Run, by_precision: dict[str, pd.DataFrame], part: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """What leads each part in most cases of each precision, and whether it's the same."""
    labels = {"what": "top kernel of {}", "leads": "most often, in", "calls": "its calls, median"}
    labels |= {"share": "its share of device time, median"}
    rows: dict[tuple[str, str], pd.Series] = {}
    for shown, word in SHOWN.items():
        told = by_precision[shown]
        rows |= {(shown, label.format(word)): told[name] for name, label in labels.items()}
    for name, label in ALIKE.items():
        alike = same(part[FORWARD], part[name])
        precision = run.cases["precision"].reindex(alike.index)
        alike_of = {name: of(alike[precision == name], "count") for name in run.precisions}
        rows[name, label] = pd.Series(alike_of, dtype=object)
    frame = pd.DataFrame(rows, run.precisions, dtype=object).T
    frame = frame[frame.notna().any(axis=1)].dropna(axis=1, how="all")
    return frame.droplevel(0).rename_axis("").reset_index()


def said(places: pd.DataFrame) -> tuple[object, ...]:
    """Places with the calls in each: "feed-forward 48, QK^T 24"."""
    cells = zip(places["at"], places["calls"], strict=True)
    return tuple(part for at, calls in cells for part in (", ", at, " ", calls))[1:]


if __name__ == "__main__":
    main("b", facts)
