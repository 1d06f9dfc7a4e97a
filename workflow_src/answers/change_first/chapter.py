"""The answer to (f), by precision and by whether the GPU idles."""

from typing import Any

import pandas as pd

from workflow_src.answers.change_first.known import rank
from workflow_src.answers.change_first.savings import change, savings
from workflow_src.answers.facts import disturbed, example, led, main, phase
from workflow_src.answers.machines import conditions
from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import MOSTLY
from workflow_src.common.words import PHASES as WORDS
from workflow_src.common.words import PHASES_IN_PROSE, STATES
from workflow_src.paper.cells import Both
from workflow_src.paper.number import NAN, Numbers, each, end, holds, of, over
from workflow_src.paper.run import Run, across, first, matrices, ordered
from workflow_src.paper.written import Facts

PREDICTED = "\N{ALMOST EQUAL TO} "
"""Before what the model of a step predicts."""

WAITS, WORKS = "waits", "works"

NOTHING, UNKNOWN = "none", STATES["not_known"]
"""Of a case: no remedy is sure to save, and none is known."""


def facts(run: Run) -> Facts:
    """What the template says, most of it of the longest phase of which any remedy is known.

    Cases that other work disturbed on a CPU have their rows, but count nowhere.
    """
    every = savings(run)
    every = every.assign(precision=every["case"].map(run.cases["precision"]))
    shown = [name for name in PHASES if (every["phase"] == name).any()] or [*PHASES]
    counted = every[~every["case"].map(disturbed(run)).astype(bool)]
    longest, found = (rows[rows["phase"] == shown[-1]] for rows in (every, counted))
    cases = by_case(run, longest, shown[-1])
    known = cases[cases.index.isin(found["case"])]
    by_precision = ordered(leading(known, found, ["precision"]), "precision", run.precisions)
    everywhere = first(leading(known.assign(all=""), found, ["all"]))
    leaders = by_precision[by_precision["change"].notna()]
    regimes = ordered(leading(known, found, ["gpu", "precision"]), "precision", run.precisions)
    regimes = ordered(regimes, "gpu", [WAITS, WORKS, ""])
    where = regimes[regimes["change"].notna() & (regimes["gpu"] != "")]
    where = where if where["gpu"].nunique() > 1 else where[:0]
    sure = holds(known["unprofiled"], known["sure"], "no other may save more")
    chosen = example(run, known.index[known["change"].notna()])
    prose = PHASES_IN_PROSE[shown[-1]]
    led_by = leaders.set_index("precision")
    parts = {
        f"where the GPU {gpu}": rows for gpu, rows in where.set_index("precision").groupby("gpu")
    }
    opening = {
        f"(f) saves most {of_what}": led(rows["change"], rows["leads"])
        for of_what, rows in (parts or {f"of the {prose}": led_by}).items()
    }
    opening["(f) the best changes together save"] = led_by["together"]
    return {
        "verdict": verdict(leaders, everywhere["leads"], found, longest, where),
        "phase": prose,
        "cpu": {*run["timings"]["device"]} == {"cpu"},
        "all": everywhere,
        "one": first(leaders),
        "last": first(leaders[leaders["change"] != first(leaders)["change"]][::-1]),
        "waiting": where[where["gpu"] == WAITS].to_dict("records"),
        "working": where[where["gpu"] == WORKS].to_dict("records"),
        "regimes": regimes.fillna({"change": NOTHING}),
        "guessed": not longest["measured"].all(),
        "sure": of(sure, "count"),
        "matrices": matrices(cases, cases["cell"]),
        "saves": matrices(cases, cases["saved"].combine_first(cases["cell"])),
        "measured": of(holds(known["saving"], known["how"] == "measured", "measured"), "count"),
        "tf32": bool((cases["remedies"] == "tf32").any()),
        "example": first(cases[cases.index == chosen]),
        "by_case": cases[cases["change"].notna()].reset_index(),
        "by_remedy": by_remedy(run, counted[counted["phase"].isin([shown[0], shown[-1]])]),
        "checked": checked(counted),
        "unchecked": unchecked(counted),
        "opening": across(opening if len(leaders) else {}, run.precisions),
    }


def verdict(
    leaders: pd.DataFrame, leads: Any, found: pd.DataFrame, every: pd.DataFrame, where: pd.DataFrame
) -> str:
    """Which headline holds; where: what leads by whether the GPU idles, if both are known."""
    if found.empty:
        return "can't tell" if every.empty else "disturbed"
    if leaders.empty:
        return "nothing"
    several = leaders["change"].nunique() > 1
    if not several and leads >= MOSTLY * found["case"].nunique():
        return "one"
    return "by regime" if len(where) else "by precision" if several else "mixed"


def by_case(run: Run, found: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row per case: what comes first in a phase, how many `others` may, and what is best
    `together`; `gpu`, whether it idles; `cell`, what a matrix says; `sure`: no other may, and the
    device kept its clock."""
    cases = phase(run, name).rename_axis("case")
    top, best = (found[found[mark]].set_index("case") for mark in ("first", "best"))
    may = holds(found["saved"], found["contends"], "by its ends it may save most")
    others = over(found.assign(may=may), "case", "may") - 1
    made = pd.DataFrame(
        {
            **{name: top[name] for name in ("remedies", "change", "plain")},
            "saving": top["saved"],
            "saved": marked(top),
            "how": top["measured"].map({True: "measured", False: "predicted"}),
            "others": others[others.index.isin(top.index)],
            "together": best["change"],
            "together_saved": marked(best),
        }
    )
    cases = cases.join(made.astype(object))
    clocks = conditions(run).set_index("case")["why_throttled"]
    sure = (cases["others"] == 0) & ~cases.index.isin(clocks.index[clocks != ""])
    gpu = cases["waits"].map({True: WAITS, False: WORKS})
    unknown = cases["state"].where(cases["state"] != STATES["ok"], UNKNOWN)
    names = cases["remedies"].fillna(NOTHING).str.replace("+", " + ")
    bold = names.map(lambda name: Both(f"**{name}**", f"<strong>{name}</strong>"))
    cell = names.map(lambda name: (name,)).where(~sure, bold)
    cell = cell.where(cases.index.isin(found["case"]), unknown)
    told = cases["works"].notna() & (cases["device"] != "cpu")
    return cases.assign(gpu=gpu.where(told, ""), cell=cell, sure=sure)


def marked(rows: pd.DataFrame, column: str = "saved") -> pd.Series:
    """A column of rows with PREDICTED before what was."""
    return rows[column].where(rows["measured"], each(rows[column], lambda n: (PREDICTED, n)))


def mostly_measured(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Of each group what was measured, if that is most of it; else all."""
    tried = rows["measured"].groupby([rows[name] for name in by]).transform("mean")
    return rows[rows["measured"] | (tried <= 0.5)]


def median(rows: pd.DataFrame) -> Any:
    """The median share that rows save, with PREDICTED if one was."""
    found = of(rows["saved"], "median")
    return found if rows["measured"].all() else (PREDICTED, found)


def leading(known: pd.DataFrame, found: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """A row per group of cases: the remedy that comes first in most, in how many it `leads`, what
    it saves in all, `how` that is known, and what the best of each case saves `together`."""
    rows = []
    for keys, mine in known.groupby(by, sort=False):
        here = found[found["case"].isin(mine.index)]
        names = mine["remedies"].dropna()
        row = dict(zip(by, keys, strict=True)) | {"together": NAN}
        if len(names):
            name = str(names.groupby(names, sort=False).size().idxmax())
            its = mostly_measured(here[(here["remedies"] == name) & here["trains"]], ["phase"])
            leads = holds(mine["unprofiled"], mine["remedies"] == name, f"{name} comes first")
            how = "measured" if its["measured"].all() else "predicted"
            row |= {"remedies": name, "change": change(name), "leads": of(leads, "count")}
            row |= {"saved": median(its), "how": how}
        if here["best"].any():
            row["together"] = median(here[here["best"]])
        rows.append(row)
    columns = [*by, "remedies", "change", "leads", "saved", "how", "together"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def by_remedy(run: Run, found: pd.DataFrame) -> pd.DataFrame:
    """A row per phase, precision and remedies: the median saving, in how many cases they lead."""
    by, found = ["phase", "precision", "remedies"], found[found["trains"].astype(bool)]
    rows = mostly_measured(found, by)
    leads = holds(found["saved"], found["first"], "it comes first")
    leads = over(found.assign(leads=leads), by, "leads", "count")
    order = sorted(
        leads.index,
        key=lambda key: (PHASES.index(key[0]), run.precisions.index(key[1]), rank(key[2])),
    )
    measured = rows["measured"].groupby([rows[name] for name in by]).all()
    saved = over(rows, by, "saved", "spread").reindex(order)
    made = told(saved, saved=saved, measured=measured.reindex(order), leads=leads)
    return made.assign(saved=marked(made))


def checked(found: pd.DataFrame) -> pd.DataFrame:
    """By phase and remedies `off`, predicted over measured time, and in how many cases the ends of
    both `meet`."""
    by = ["phase", "remedies"]
    rows = found[found["guess"].notna()]
    guess, time = rows["guess"], rows["time"]
    meet = (end(guess, 0) <= end(time, 1)) & (end(time, 0) <= end(guess, 1))
    rows = rows.assign(off=guess / time)
    rows = rows.assign(meet=holds(rows["off"], meet, "the ends meet"))
    off = over(rows, by, "off", "spread")
    return told(off, off=off, meet=over(rows, by, "meet", "count"))


def told(medians: Numbers, **columns: pd.Series) -> pd.DataFrame:
    """Columns by phase and remedies, in words, with the `least` and the `most` of medians."""
    ends = {"least": end(medians, 0), "most": end(medians, 1)}
    rows = pd.DataFrame(columns | ends, medians.index, dtype=object).reset_index()
    return rows.assign(change=rows["remedies"].map(change), phase=rows["phase"].map(WORDS))


def unchecked(found: pd.DataFrame) -> str:
    """The single remedies that were measured in no case."""
    names = {*found["remedies"]} - {*found["remedies"][found["measured"]]}
    return ", ".join(map(change, sorted((n for n in names if "+" not in n), key=rank)))


if __name__ == "__main__":
    main("f", facts)
