"""How near predicted remedies come to measured ones: for published runs, and blind measurements.

What was measured of a remedy is in a run's timings.csv (the same case in bf16 or tf32, and replays
of CUDA graphs) and in its studies/levers.csv, whose plain steps, of another process, take the place
of the run's. Rules were made on the cases of DEVELOPED; the others were looked at once.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks.plain_point import PlainPoint
from workflow_src.answers.change_first.savings import chosen
from workflow_src.common.read_table import read_table
from workflow_src.common.remedies import GRAPH, REMEDIES
from workflow_src.studies.join_points import prepared
from workflow_src.studies.study import Row
from workflow_src.tables.remedies import predictions

KEYS = ["case", "phase", "remedies"]
NEEDED = ("timings", "operators", "products", "ceilings")

DEVELOPED = (*("ctx128", "ctx512"), "medium-ctx256-bf16")
"""In the names of the cases on which rules were made."""

PHASES = ("forward", "train_step")

PAIR = "fused+graph"
"""A graph needs an optimizer that counts its steps on the device."""


def ordered(remedies: str) -> str:
    """Remedies in the order of predictions."""
    return "+".join(sorted(remedies.split("+"), key=REMEDIES.index))


def in_timings(timings: pd.DataFrame) -> pd.DataFrame:
    """What a run's own timings tell of remedies: KEYS and measured_ms."""
    ok = timings[timings["status"] == "ok"]
    like = ["size", "context", "batch", "attention", "optimizer", "phase"]
    parts = []
    for wider, narrower in (("fp32", "bf16"), ("tf32", "bf16"), ("fp32", "tf32")):
        pairs = ok[ok["precision"] == wider].merge(ok[ok["precision"] == narrower], on=like)
        for column, after in (("median_ms", ""), ("replayed_median_ms", "+graph")):
            measured = pairs[["case_x", "phase", f"{column}_y"]].set_axis(
                ["case", "phase", "measured_ms"], axis=1
            )
            parts.append(measured.assign(remedies=narrower + after))
    alone = ok[["case", "phase", "replayed_median_ms"]].set_axis(
        ["case", "phase", "measured_ms"], axis=1
    )
    parts.append(alone.assign(remedies="graph"))
    return pd.concat(parts).dropna(subset="measured_ms")


def in_levers(levers: pd.DataFrame) -> pd.DataFrame:
    """What the study levers measured, of remedies that are predicted."""
    known = levers[(levers["status"] == "ok") & levers["remedies"].notna()]
    known = known[known["remedies"].map(lambda text: set(text.split("+")) <= set(REMEDIES))]
    table = known.rename(columns={"median_ms": "measured_ms"})
    return table[["case", "phase", "measured_ms"]].assign(remedies=known["remedies"].map(ordered))


def with_plain(timings: pd.DataFrame, levers: pd.DataFrame) -> pd.DataFrame:
    """A run's timings with the plain times of the study's cases, by process."""
    plain = levers[(levers["variant"] == "plain") & (levers["status"] == "ok")]
    given = plain.set_index(["case", "phase"])
    timings = timings.set_index(["case", "phase"])
    for new, old in (
        *(("median_ms", "median_ms"), ("fastest_process_ms", "fastest_ms")),
        *(("slowest_process_ms", "slowest_ms"), ("processes", "processes")),
    ):
        timings[old] = given[new].combine_first(timings[old]).reindex(timings.index)
    return timings.reset_index()


def compared(predicted: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Predictions beside measurements, errors as shares of the plain step and of what is left."""
    both = predicted[predicted["status"] == "ok"].merge(measured, on=KEYS)
    both = both[both["phase"].isin(PHASES)]
    off_ms = both["predicted_ms"] - both["measured_ms"]
    return both.assign(
        error=off_ms / both["plain_ms"],
        error_left=off_ms / both["measured_ms"],
        inside=both["measured_ms"].between(both["low_ms"], both["high_ms"]),
        width=(both["high_ms"] - both["low_ms"]) / both["plain_ms"],
        developed=both["case"].map(lambda case: any(part in case for part in DEVELOPED)),
    )


def scored(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Of each group: how many, the median and the 80th percentile of errors, the share inside."""
    groups = rows.groupby(by)
    off = groups["error"].agg(
        number="size",
        median_error=lambda each: each.abs().median(),
        error_p80=lambda each: each.abs().quantile(0.8),
        bias="median",
    )
    left = groups["error_left"].agg(
        median_left=lambda each: each.abs().median(),
        left_p80=lambda each: each.abs().quantile(0.8),
    )
    scores: pd.DataFrame = off.join(left).join(groups[["inside"]].mean())
    return scores.join(groups[["width"]].median())


def firsts(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each phase: in how many cases the remedy that was to save most is the one that did.

    Among those measured alone, a graph counting as one with the optimizer that it needs. `among`:
    in how many the one that saved most may do so by its interval.
    """
    alone = rows.assign(remedies=rows["remedies"].replace(PAIR, GRAPH), trains=True)
    alone = alone.reset_index(drop=True)

    def by(*columns: str) -> pd.DataFrame:
        times = alone[[*columns]].div(alone["plain_ms"], axis=0)
        times = times.set_axis(["rest", "low", "high"], axis=1)
        return chosen(alone.assign(sure=times["high"] < 1, **times))

    predicted = by("predicted_ms", "low_ms", "high_ms")
    measured = by("measured_ms", "measured_ms", "measured_ms")
    found = predicted[measured["first"]].groupby("phase")
    return found.agg(cases=("case", "size"), first=("first", "sum"), among=("contends", "sum"))


def of_run(tables: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The comparisons of a run by what they are with."""
    run = {name: read_table(tables / f"{name}.csv", name) for name in NEEDED}
    predicted = pd.read_csv(tables / "remedies.csv")
    yield "timings", compared(predicted, in_timings(run["timings"]))
    path = tables / "studies" / "levers.csv"
    if path.is_file():
        levers = pd.read_csv(path)
        cases = [case for case in levers["case"].unique() if case in set(run["timings"]["case"])]
        timings = with_plain(run["timings"], levers)
        predicted = pd.DataFrame(predictions(run | {"timings": timings}, cases))
        yield "levers", compared(predicted, in_levers(levers))


def timed_beside(rows: list[Row], walls: dict[str, float]) -> list[Row]:
    """A plain point's rows with the plain times measured in turn with a variant.

    Of a phase without one, as forward and backward, the time changes as that of the training step.
    """
    was = {row["phase"]: row["median_ms"] for row in rows if row["measurement"] == "phase"}
    change = walls["train_step"] / was["train_step"]
    return [
        row | {"median_ms": walls.get(row["phase"], row["median_ms"] * change)}
        if row["measurement"] == "phase"
        else row
        for row in rows
    ]


def named(row: Row) -> Row:
    """A plain point's row as `prepared`, whose activities keep where they were launched, too."""
    made = prepared(row)
    pairs = zip(row.get("activities", ()), made.get("activities", ()), strict=True)
    return made | {"activities": [recorded | named for recorded, named in pairs]}


def of_blind(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The comparisons of what was measured blind, from its plain points alone."""
    rows = pd.read_csv(folder / "measured.csv")
    ok = rows[rows["status"] == "ok"].rename(columns={"median_ms": "measured_ms"})
    measured = ok[ok["remedies"] != "plain"].assign(remedies=lambda t: t["remedies"].map(ordered))
    beside = ok[ok["remedies"] == "plain"].assign(remedies=lambda t: t["beside"].map(ordered))
    keyed = measured[[*KEYS, "measured_ms"]].merge(
        beside[[*KEYS, "measured_ms"]], on=KEYS, suffixes=("", "_of_plain")
    )
    plain_of = beside.set_index(KEYS)["measured_ms"]
    found = []
    for path in sorted((folder / "plain").glob("*.json*")):
        content = path.read_bytes()
        result = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
        case = path.name.partition(".json")[0]
        point_rows = [named(row) if row["status"] == "ok" else row for row in result["rows"]]
        for remedies in keyed.loc[keyed["case"] == case, "remedies"].unique():
            timed = [phase for phase in PHASES if (case, phase, remedies) in plain_of.index]
            walls = {phase: plain_of[case, phase, remedies] for phase in timed}
            steps = PlainPoint.of(result["point"], timed_beside(point_rows, walls)).steps()
            for phase in timed:
                about = {"case": case, "phase": phase, "remedies": remedies, "status": "ok"}
                low, usual, high = steps[phase].predicted(remedies.split("+"))
                times = {"predicted_ms": usual, "low_ms": low, "high_ms": high}
                found.append(about | {"plain_ms": steps[phase].plain_ms} | times)
    yield "blind", compared(pd.DataFrame(found), keyed).assign(developed=False)


def main() -> None:
    """Print how predictions fare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path, nargs="*", help="folders of joined tables")
    parser.add_argument(
        "--blind",
        type=Path,
        nargs="*",
        default=[],
        metavar="FOLDER",
        help="such as benchmarks/remedies_blind/combined",
    )
    parser.add_argument("--output", type=Path, help="a CSV of all comparisons")
    parser.add_argument("--cases", choices=("developed", "all"), default="developed")
    given = parser.parse_args()
    parts = []
    for tables in given.tables:
        for source, rows in of_run(tables):
            parts.append(rows.assign(run=str(tables), source=source))
    for folder in given.blind:
        for source, rows in of_blind(folder):
            parts.append(rows.assign(run=str(folder), source=source))
    rows = pd.concat(parts, ignore_index=True)
    if given.cases == "developed" and not given.blind:
        rows = rows[rows["developed"]]
    with pd.option_context("display.width", 200, "display.max_rows", 500):
        print(scored(rows, ["developed", "source", "phase"]).round(3).to_string())
        print(scored(rows, ["developed", "source", "phase", "remedies"]).round(3).to_string())
        if given.blind:
            print(firsts(rows).to_string())
    if given.output:
        rows.to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
