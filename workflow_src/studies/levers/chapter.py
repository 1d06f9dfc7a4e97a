"""Study levers: what pays first in a training step and after it, held against predictions."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.common.case import OPTIMIZERS
from workflow_src.common.remedies import GRAPH, REMEDIES, counts_in_graph
from workflow_src.common.units import NS_PER_MS
from workflow_src.common.words import PHASES, in_words
from workflow_src.paper.number import each, end, holds, lift, of, over, to, within
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, unmeasured
from workflow_src.studies.levers.variants import BATCH, PLAIN, STACK, Variant, stack
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row

STEP = "train_step"

WORTH = 0.03
"""A remedy that saves less of the training step is not worth its change."""

MOSTLY = 0.9
"""Intervals of 95 % are borne out if this share of savings agrees: of twenty, one or two may
not."""

ENDS = ["fastest_process_ms", "slowest_process_ms"]
OF_PLAIN = ["median_ms", "device_ms", "peak_memory_mib", *ENDS, "finite"]
ERRORS = ["logits_error", "gradients_error"]
NOT_FINITE = "not finite"


def facts(run: Run) -> Facts:
    """What the study's table says, beside what the run's remedies predicted of the same steps."""
    table = predicted(beside_plain(load(run, "levers")), run["remedies"])
    steps = table[table["phase"] == STEP]
    best, stacked = firsts(steps), on_top(steps)
    agree, judged = of(steps["agrees"], "count"), steps["agrees"].notna().sum()
    verdict = "as predicted" if agree >= MOSTLY * judged else "missed"
    verdict = verdict if judged else "unpredicted"
    tried = steps["saves"].notna() & ~steps["is_plain"]
    return {
        "verdict": (verdict if len(best) else "nothing") if tried.any() else "can't tell",
        "best": first(best.sort_values("saves", ascending=False)),
        "agree": agree,
        "off": of((steps["saves"] - steps["expected"])[steps["agrees"].notna()].abs(), "median"),
        "cases": by_case(steps, best),
        "stacked": stacked,
        "every": table,
        "effects": effects(steps[steps["ok"] & steps["median_ms"].notna()]),
        "missing": unmeasured(table, "case", "words"),
    }


def differ(rows: pd.DataFrame, other: pd.DataFrame, side: str = "") -> pd.Series:
    """Whether the processes of two times, row by row, don't overlap; also where one has no ends."""
    (low, high), (least, most) = ([rows[n] for n in ENDS], [other[f"{n}{side}"] for n in ENDS])
    return ~((high >= least) & (low <= most)).astype(bool)


def beside_plain(table: pd.DataFrame) -> pd.DataFrame:
    """Each phase of a case beside the plain one (columns in _plain).

    broken: gradients aren't finite, though the plain one's are. counts: it does the plain one's
    work in some time: a larger batch does more, and broken gradients do none. shown: processes
    don't overlap with the plain one's. saves: the share of the plain time. printed: that, marked.
    """
    names = table["remedies"].map(lambda text: list(filter(None, text.split("+"))))
    is_plain, key = table["variant"] == PLAIN, ["case", "phase"]
    finite = ~((table["error_state"] == "ok") & table["gradients_error"].isna())
    table = table.assign(names=names, is_plain=is_plain, finite=finite)
    plain = table[is_plain].drop_duplicates(key, keep="last")[[*key, *OF_PLAIN]]
    table = table.merge(plain, how="left", on=key, suffixes=("", "_plain"))
    broken = ~table["finite"] & table["finite_plain"].ne(False)
    once = table["batches"].isna() | (table["batches"] == 1)
    ratio = (table["median_ms"] / table["median_ms_plain"]).where(table["ok"]).astype(object)
    saves = to(1 - ratio, "share")
    shown = differ(table, table, "_plain")
    marked = saves.where(shown, each(saves, lambda share: (share, " ‡")))
    device_saves = 1 - (table["device_ms"] / table["device_ms_plain"]).astype(object)
    return table.assign(
        words=table["names"].map(lambda all_: " + ".join(map(in_words, all_)) or PLAIN),
        said=table["phase"].replace(PHASES),
        counts=table["ok"] & table["median_ms"].notna() & once & ~broken,
        shown=shown,
        saves=saves,
        printed=marked.where(~broken, NOT_FINITE).where(~table["is_plain"]),
        device_saves=to(device_saves.where(~table["is_plain"]), "share"),
        ms=or_state(table["time"], table),
    )


def predicted(table: pd.DataFrame, remedies: pd.DataFrame) -> pd.DataFrame:
    """With what the run predicted of the same remedies in the same phase of a case.

    expected: the share saved of the plain time that it was predicted from, which other processes
    took; low to high in 95 %. agrees: whether that interval and what the processes saved overlap;
    the latter goes from the slowest process against the fastest plain one to the opposite.
    """
    mine = remedies["case"].isin(table["case"]) & (remedies["batch"].astype(float) == BATCH)
    rows = remedies[mine & (remedies["status"] == "ok")]
    plain_ms, names = lift(rows["plain_ms"]), ("predicted_ms", "high_ms", "low_ms")
    parts = ((lift(rows[name]) / plain_ms).astype(object) for name in names)
    middle, low, high = (to(1 - part, "share") for part in parts)
    known = rows[["case", "phase"]].assign(key=rows["remedies"], expected=within(middle, low, high))
    keys = [key_of(*row) for row in zip(table["names"], table["phase"], strict=True)]
    table = table.assign(key=keys).merge(known, how="left", on=["case", "phase", "key"])
    expected = table["expected"].astype(object)
    low, high = end(expected, 0), end(expected, 1)
    fast, slow, first_, last = (
        table[f"{name}{side}"].combine_first(table[f"median_ms{side}"])
        for side in ("", "_plain")
        for name in ENDS
    )
    least, most = (1 - (slow / first_).astype(object)), (1 - (fast / last).astype(object))
    off = (table["saves"] - expected).where(table["counts"])
    agrees = holds(off, (least <= high) & (most >= low), "both intervals overlap")
    as_told = agrees.map({1: "yes", 0: "no"}).fillna("")
    return table.assign(expected=expected, low=low, high=high, agrees=agrees, as_told=as_told)


def key_of(names: Sequence[str], phase: str) -> str:
    """Remedies as the table of remedies joins them; "" if it doesn't predict what was tried.

    A graph ends with backward here if its optimizer can't count its steps in one, and not there. Of
    an optimizer alone, only the training step is predicted.
    """
    optimizer = next((name for name in names if name in OPTIMIZERS), OPTIMIZERS[0])
    shorter = GRAPH in names and phase == STEP and not counts_in_graph(optimizer)
    nothing = phase != STEP and set(names) <= set(OPTIMIZERS)
    known = not shorter and not nothing and set(names) <= set(REMEDIES)
    return "+".join(sorted(names, key=REMEDIES.index)) if known else ""


def firsts(steps: pd.DataFrame) -> pd.DataFrame:
    """The remedy of each case that alone saves most, of those shown to save WORTH.

    clear: whether its processes overlap with no other remedy's alone.
    """
    alone = steps[(steps["names"].map(len) == 1) & steps["counts"]]
    worth = alone[(alone["saves"] >= WORTH) & alone["shown"]]
    best = worth.sort_values("saves", ascending=False, kind="stable").drop_duplicates("case")
    pairs = alone.merge(best[["case", "variant", *ENDS]], on="case", suffixes=("", "_best"))
    others = pairs["variant"] != pairs["variant_best"]
    near = pairs["case"][~differ(pairs, pairs, "_best") & others]
    return best.assign(clear=~best["case"].isin(near))


def on_top(steps: pd.DataFrame) -> pd.DataFrame:
    """The steps that were put on top of each other, in order, from the plain one.

    added: the remedies beyond those of the step before; gain: what they save (ms), with the digits
    and the mark that processes earn.
    """
    about = zip(steps["variant"], steps["precision"], steps["device"], strict=True)
    rows = steps.assign(place=[place(*row) for row in about], number=steps["case"].factorize()[0])
    rows = rows[rows["counts"] & (rows["place"] >= 0)].sort_values(["number", "place"])
    same = rows["case"] == rows["case"].shift()
    before = rows[["median_ms", *ENDS]].shift().astype(object).where(same)
    known = rows["names"].map(len).shift(fill_value=0).where(same, 0)
    added = [names[at:] for names, at in zip(rows["names"], known, strict=True)]
    fast, slow = ENDS
    gain = before["median_ms"] - rows["median_ms"]
    gain = within(gain, before[fast] - rows[slow], before[slow] - rows[fast])
    marked = gain.where(differ(rows, before), each(gain, lambda number: (number, " ‡")))
    words = [" + ".join(map(in_words, names)) or PLAIN for names in added]
    return rows.assign(added=words, gain=marked)


def place(variant: str, precision: str, device: str) -> int:
    """A variant's place in the stack of a case, or -1."""
    names = [each.name for each in stack(precision, device)] if device in STACK else []
    return names.index(variant) if variant in names else -1


def by_case(steps: pd.DataFrame, best: pd.DataFrame) -> pd.DataFrame:
    """A case's plain step, what pays most alone, its shortest step, and predictions."""
    plain = steps[steps["is_plain"]].drop_duplicates("case").set_index("case")
    tried = steps[~steps["is_plain"] & steps["counts"]]
    least = tried.sort_values("median_ms", kind="stable").drop_duplicates("case").set_index("case")
    best = best.set_index("case")
    found = {
        "plain": plain["ms"],
        "works": to(plain["device_ms"] / plain["median_ms"], "share"),
        "first": best["words"] + best["clear"].map({True: "", False: " or another"}),
        "saves": best["saves"],
        "shortest": least["words"],
        "ms": least["time"],
        "in_all": least["saves"],
        "agree": over(steps, "case", "agrees", "count"),
    }
    frame = pd.DataFrame(found, index=steps["case"].unique(), dtype=object)
    return frame.rename_axis("case").reset_index()


def effects(steps: pd.DataFrame) -> pd.DataFrame:
    """Memory and errors; what was compared and has no error isn't finite."""
    grown = (steps["peak_memory_mib"] / steps["peak_memory_mib_plain"]).astype(object) - 1
    compared = steps["error_state"] == "ok"
    return steps.assign(
        peak=to(steps["peak_memory_mib"], "GiB"),
        grown=to(grown.where(~steps["is_plain"]), "change"),
        **{name: steps[name].where(steps[name].notna() | ~compared, NOT_FINITE) for name in ERRORS},
    )


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per phase; times are per as many tokens as the plain batch has."""
    variant, case = Variant.of(point), case_of(point, point["size"], point["precision"])
    extra: Row = {}
    for row in rows:
        if row["measurement"] == "error":
            extra |= {name: row.get(name) for name in ERRORS} | {"error_state": row["status"]}
    told = ("case", "size", "context", "precision", "device")
    about = {name: getattr(case, name) for name in told} | {"variant": variant.name}
    about |= {"remedies": "+".join(variant.remedies), "batches": variant.batches}
    phases = [row for row in rows if row["measurement"] == "phase"]
    return [about | _phase(row, variant.batches) | extra for row in phases]


def _phase(row: Row, batches: int) -> Row:
    kept = {key: row[key] for key in ("phase", "status", "reason")}
    if row["status"] != "ok":
        return kept
    samples: pd.Series = pd.Series(row["samples_ns"], dtype=float)
    of_each = samples.groupby(row.get("process", [0] * len(samples))).median() / NS_PER_MS / batches
    ends = dict(zip(ENDS, (of_each.min(), of_each.max()), strict=True)) if len(of_each) > 1 else {}
    names = {name: name for name in ("median_ms", "p20_ms", "p80_ms")} | {"device_ms": "busy_ms"}
    kept |= {name: row[known] / batches for name, known in names.items() if known in row}
    kept |= {name: row[name] for name in ("samples", "peak_memory_mib")}
    return kept | ends | {"processes": len(of_each)}
