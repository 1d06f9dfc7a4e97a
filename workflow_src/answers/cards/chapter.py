"""The card of each case: what is wrong and what to change, then all that is known."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from workflow_src.answers.cards.doubts import doubts
from workflow_src.answers.cards.modules import modules
from workflow_src.answers.cards.phases import phases
from workflow_src.answers.ceilings import memory, peaks
from workflow_src.answers.change_first.chapter import marked
from workflow_src.answers.change_first.savings import savings
from workflow_src.answers.facts import PRODUCTS, tables_of
from workflow_src.answers.questions import CARDS
from workflow_src.answers.top_kernel.tops import PART, kernels_of, longest, tops
from workflow_src.common.case import PHASES
from workflow_src.common.words import PARTS
from workflow_src.common.words import PHASES as IN_WORDS
from workflow_src.common.words import PHASES_IN_PROSE as IN_PROSE
from workflow_src.paper import written
from workflow_src.paper.number import each, over, to
from workflow_src.paper.run import Run, first, keyed
from workflow_src.paper.written import Facts

TEMPLATE = "case_card.j2"


def facts(run: Run) -> Facts:
    """What the template says."""
    wrong = summary(run, findings(run))
    verdict = "cards" if wrong.empty else "found"
    return {"verdict": verdict, "wrong": wrong, "cards": cards(run), "heading": "###"}


def summary(run: Run, found: pd.DataFrame) -> pd.DataFrame:
    """A row per finding in training steps: in how many cases it `occurs` and `leads`, and the share
    that it `saves`."""
    mine = found[found["phase"] == IN_PROSE[PHASES[-1]]]
    cases = float(mine.index.nunique())
    one = mine["rank"] / mine["rank"]
    mine = mine.assign(one=one, first=one.where(mine["leads"]))
    every = mine.groupby([mine.index, "what"], sort=False).first().reset_index("what")
    sums = {"occurs": over(every, "what", "one"), "leads": over(every, "what", "first")}
    made = {n: each(s, partial(replace, unit=f"of {cases:.0f}")) for n, s in sums.items()}
    made["saves"] = over(every, "what", "saves_share", "spread")
    wrong = pd.DataFrame(made, dtype=object).sort_values("leads", ascending=False, kind="stable")
    return wrong.reset_index(names="what")


def cards(run: Run) -> list[dict[str, Any]]:
    """Of each case its rows of several frames.

    wrong, change: the first finding and the first saving of the last phase that has one, rows in
    which all may be missing.
    """
    times, saved, found = phases(run), savings(run), findings(run)
    frames = {
        "phases": in_words(times, IN_WORDS),
        "parts": in_words(by_part(run), PARTS),
        "modules": modules(run),
        "remedies": remedies(saved),
        "findings": found,
        "wrong": found[found["leads"]].iloc[::-1],
        "change": phrased(saved[saved["first"].astype(bool)]).iloc[::-1],
        "doubts": doubts(run, times),
        "notes": notes(times),
    }
    rows = {name: dict(iter(frame.groupby(level="case"))) for name, frame in frames.items()}
    made, at_best = [], memory(run)
    peak = run.cases["precision"].map(peaks(run))
    for case in run.cases.index:
        mine: dict[str, Any] = {
            name: rows[name].get(case, frame.iloc[:0]) for name, frame in frames.items()
        }
        mine |= {name: first(mine[name]) for name in ("wrong", "change")}
        mine |= {"case": str(case), "memory": at_best, "peak": peak[case]}
        made.append(mine | {"bound": bool(mine["phases"]["waits"].any())})
    return made


def by_part(run: Run) -> pd.DataFrame:
    """By case and part of a step, its tops, and what does most besides products."""
    rows = kernels_of(run)
    whole = over(rows, PART, "ms")
    others = rows[rows["kind"].isin(["kernel", "operator"]) & ~rows["family"].isin(PRODUCTS)]
    mine = longest(others, "what")
    ms, calls = over(mine, PART, "ms"), over(mine, PART, "calls_per_step", unit="calls")
    what = keyed(mine, PART)["what"]
    made = {"besides_what": what, "besides_calls": calls, "besides_share": to(ms / whole, "share")}
    return tops(run)[0].join(pd.DataFrame(made, dtype=object))


def in_words(rows: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Rows by case and phase or part, with the latter in words as `part`."""
    last = rows.index.get_level_values(1).map(names)
    return rows.droplevel(1).assign(part=last.astype(object))


def phrased(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows indexed by case, with their phase as sentences say it."""
    return rows.assign(phase=rows["phase"].map(IN_PROSE)).set_index("case")


def findings(run: Run) -> pd.DataFrame:
    """The findings of each case: the last phase last, in each what saves most first: it `leads`."""
    rows = run.numbers("findings")
    rows = rows[rows["case"].isin(run.cases.index)]
    rows = rows.sort_values("saves_ms", ascending=False, kind="stable")
    found = rows.assign(
        what=rows["name"],
        part=rows["phase"].map(IN_WORDS).astype(object),
        leads=~rows.duplicated(["case", "phase"]),
        place=rows["path"].where(rows["also_in"] == "", rows["path"] + ", " + rows["also_in"]),
    )
    return phrased(found.sort_values("phase", kind="stable"))


def remedies(saved: pd.DataFrame) -> pd.DataFrame:
    """A row per case and remedies: ms with them and the share saved, in columns of each phase."""
    saved = saved[saved["trains"].astype(bool)].set_index(["case", "remedies", "phase"])
    cells = pd.DataFrame({"ms": marked(saved, "time"), "saves": marked(saved)}, dtype=object)
    found = cells.unstack(sort=False)
    return found.set_axis(found.columns.map("_".join), axis=1).reset_index("remedies")


def notes(times: pd.DataFrame) -> pd.DataFrame:
    """By case why phases, or their replays, have no times."""
    rows = in_words(times, IN_WORDS)
    plain = pd.DataFrame({"about": rows["part"], "why": rows["reason"]})
    graph = {"about": rows["part"] + " as a CUDA graph", "why": rows["replay_reason"]}
    found = pd.concat([plain, pd.DataFrame(graph)])
    return found[found["why"].fillna("") != ""]


if __name__ == "__main__":
    written.main("cards", facts, [TEMPLATE], tables=tables_of(CARDS))
