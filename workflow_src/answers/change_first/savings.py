"""What each remedy saves of each phase of each case, and which comes first."""

from dataclasses import replace

import pandas as pd

from workflow_src.answers.change_first.known import (
    PLAIN_TIME,
    PREDICTED,
    STUDY,
    THEIR_STUDY,
    TIME,
    known,
    rank,
)
from workflow_src.answers.facts import KEY
from workflow_src.common.case import OPTIMIZERS, PHASES
from workflow_src.common.remedies import GRAPH, counts_in_graph
from workflow_src.common.words import in_words
from workflow_src.paper.number import Numbers, each, end, named, to
from workflow_src.paper.run import Run, keyed

NAME = [*KEY, "remedies", "trains"]

LEFT = {"rest": "time", "low": "low", "high": "high"}
"""Columns of what is left of the plain time; see `chosen`."""


def savings(run: Run) -> pd.DataFrame:
    """A row per case, phase and remedies (joined by "+"; `change`, in words), those of fewer first.

    With their ends, `plain` and the `time` with them (ms), and the share `saved`; `how` it is
    known, and whether `measured`; `guess`: the prediction of a measured time; `trains`: False of a
    training step that doesn't. contends: alone, it may save most, by its ends; first: it does by
    its median; best: it saves most, combinations included.
    """
    found = known(run)
    found = found.assign(measured=found["how"] != PREDICTED, trains=trains(run, found))
    found = with_shares(found[found["trains"] | (found["how"] != THEIR_STUDY)])
    guesses = keyed(found[~found["measured"]], NAME)["time"]
    found = found.drop_duplicates(NAME)
    guess = guesses.reindex(pd.MultiIndex.from_frame(found[NAME])).set_axis(found.index)
    guess = guess.where(found["measured"] & (found["how"] != STUDY))
    found = found.assign(guess=guess, change=found["remedies"].map(change))
    return chosen(in_rank(run, found)).drop(columns=["rest", "low", "high", "sure"])


def change(remedies: str) -> str:
    """Remedies in a sentence: "bf16 autocast, fused AdamW and a CUDA graph"."""
    *names, last = map(in_words, remedies.split("+"))
    return f"{', '.join(names)} and {last}" if names else last


def trains(run: Run, rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether a training step still trains: in a CUDA graph only if its optimizer counts there; the
    case's study ends a graph with backward where it doesn't."""
    optimizer = rows["case"].map(run.cases["optimizer"])
    pairs = zip(rows["remedies"].str.split("+"), optimizer, strict=True)
    counts = [
        GRAPH not in names or counts_in_graph(next((n for n in names if n in OPTIMIZERS), own))
        for names, own in pairs
    ]
    other = (rows["phase"] != PHASES[-1]) | (rows["how"] == STUDY)
    return other | pd.Series(counts, rows.index, dtype=bool)


def with_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """With the share `saved`, whose low end is of the slowest with the remedies against the fastest
    without, its high end the opposite; and with what `chosen` goes by."""
    times = named(rows[[*PLAIN_TIME, *TIME]])
    share = 1 - times["time"] / times["plain"]
    low, high = 1 - times["high"] / times["plain_low"], 1 - times["low"] / times["plain_high"]
    saved = ended(*(to(cells, "share") for cells in (share, low, high)))
    plain, time = (ended(*(rows[name] for name in names)) for names in (PLAIN_TIME, TIME))
    left = {name: (times[column] / times["plain"]).astype(float) for name, column in LEFT.items()}
    sure = end(saved, 0).astype(float) > 0
    rows = rows[[*NAME, "how", "measured"]]
    return rows.assign(plain=plain, time=time, saved=saved, sure=sure, **left)


def ended(cells: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Numbers with their ends."""
    return each(cells, lambda number, *ends: replace(number, ends=ends), low, high)


def in_rank(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by case, phase and `rank`."""
    cases = {case: at for at, case in enumerate(run.cases.index)}
    every = rows[NAME].itertuples(index=False, name=None)
    ranks = [
        (cases[case], PHASES.index(phase), rank(name), trains)
        for case, phase, name, trains in every
    ]
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    return rows.iloc[order].reset_index(drop=True)


def chosen(rows: pd.DataFrame) -> pd.DataFrame:
    """With `contends`, `first` and `best`.

    Single remedies may come first; of a graph that doesn't train, the shortest pair with an
    optimizer under which it does. One contends if it begins before any other ends, unless a pair
    that contends has it; none does where none is sure to save. They compare by the share of their
    plain time, which they have in common, that is left: `rest`, from `low` to `high`.
    """
    keys = [rows[name] for name in KEY]
    low, high, sure = (rows[name] for name in ("low", "high", "sure"))
    trains = rows["trains"].astype(bool)
    names = rows["remedies"].str.split("+")
    number = names.map(len)
    graph = rows["remedies"] == GRAPH
    lame = (graph & ~trains).groupby(keys).transform("any")
    besides = [len(some) == 2 and {*some} - {*OPTIMIZERS} == {GRAPH} for some in names]
    pair = shortest(rows, lame & trains & pd.Series(besides, rows.index, dtype=bool))
    may = ((number == 1) & trains) | pair
    may &= (sure & may).groupby(keys).transform("any")
    near = may & (low <= high.where(may).groupby(keys).transform("min"))
    paired = rows["remedies"].where(pair & near, "").groupby(keys).transform("max").str.split("+")
    part = [it in of_pair for it, of_pair in zip(rows["remedies"], paired, strict=True)]
    contends = near & ~pd.Series(part, rows.index, dtype=bool)
    first, best = shortest(rows, contends), shortest(rows, sure & trains)
    return rows.assign(contends=contends, first=first, best=best)


def shortest(rows: pd.DataFrame, among: "pd.Series[bool]") -> "pd.Series[bool]":
    """Whether a row has the shortest time of some of each phase."""
    least = rows[among].sort_values("rest", kind="stable").drop_duplicates(KEY)
    return pd.Series(rows.index.isin(least.index), rows.index)
