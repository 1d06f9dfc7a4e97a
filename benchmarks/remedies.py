"""How near predicted remedies come to measured ones: for published runs, and blind measurements.

What was measured of a remedy is in a run's timings.csv (the same case in bf16 or tf32, and replays
of CUDA graphs), in its studies/levers.csv, and in benchmarks/remedies_blind, whose plain times, of
other processes, take the place of the run's. Rules were made on the cases of DEVELOPED; the others
were looked at once.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_src.answers.change_first.savings import chosen
from workflow_src.common.read_table import read_table
from workflow_src.common.remedies import GRAPH, REMEDIES
from workflow_src.diagnosis.remedies.predict import predicted
from workflow_src.tables.remedies import Phases, phases_of, plain_steps

KEYS = ["case", "phase", "remedies"]
NEEDED = ("timings", "operators", "ceilings")

DEVELOPED = (*("ctx128", "ctx512"), "medium-ctx256-bf16")
"""In the names of the cases on which rules were made."""

PHASES = ("forward", "train_step")

BLIND_RUN = Path("examples/h200/tables")
"""The run whose cases were measured blind, on the same kind of GPU."""

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
    known = levers[levers["remedies"].notna()]
    known = known[known["remedies"].map(lambda text: set(text.split("+")) <= set(REMEDIES))]
    table = known.rename(columns={"median_ms": "measured_ms"})
    return table[["case", "phase", "measured_ms"]].assign(remedies=known["remedies"].map(ordered))


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


def read(tables: Path) -> dict[str, pd.DataFrame]:
    """The tables of a run that predictions need."""
    return {name: read_table(tables / f"{name}.csv", name) for name in NEEDED}


def of_run(tables: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The comparisons of a run by what they are with."""
    run = read(tables)
    yield "timings", compared(pd.read_csv(tables / "remedies.csv"), in_timings(run["timings"]))
    path = tables / "studies" / "levers.csv"
    if path.is_file():
        levers = pd.read_csv(path)
        levers = levers[levers["case"].isin(run["timings"]["case"]) & (levers["status"] == "ok")]
        walls = levers[levers["variant"] == "plain"].set_index(KEYS[:2])["median_ms"]
        predicted = predicted_beside(phases_of(run), walls, in_levers(levers))
        yield "levers", compared(predicted, in_levers(levers))


def of_blind(folder: Path, tables: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The comparisons of what was measured blind, by a run that recorded the same cases plain."""
    phases = phases_of(read(tables))
    plain = pd.read_csv(folder / "plain.csv").set_index(KEYS[:2])["median_ms"]
    rows = pd.read_csv(folder / "measured.csv").rename(columns={"median_ms": "measured_ms"})
    ok = rows[rows["status"] == "ok"]
    for name, beside in ok[ok["remedies"] == "plain"].groupby("beside"):
        walls = timed_beside(plain, beside.set_index(KEYS[:2])["measured_ms"])
        measured = ok.loc[ok["remedies"] == name, [*KEYS, "measured_ms"]]
        measured = measured.assign(remedies=ordered(str(name)))
        both = compared(predicted_beside(phases, walls, measured), measured)
        yield "blind", both.assign(developed=False)


def timed_beside(plain: "pd.Series[float]", walls: "pd.Series[float]") -> "pd.Series[float]":
    """Plain times (ms) by case and phase, as measured in turn with a variant: of a phase without
    one, as forward and backward, the time changes as that of the training step."""
    step = (walls / plain).xs("train_step", level="phase").dropna()
    plain = plain[plain.index.isin(step.index, level="case")]
    change = plain.index.get_level_values("case").map(step.to_dict())
    return walls.combine_first(plain * change)


def predicted_beside(
    phases: Phases, walls: "pd.Series[float]", measured: pd.DataFrame
) -> pd.DataFrame:
    """Predictions of what was measured, where the plain times (ms) were others than the run's."""
    timed = {
        case: {name: replace(each, plain_ms=walls[case, name]) for name, each in its.items()}
        for case, its in phases.items()
        if case in walls
    }
    plain = plain_steps({**phases, **timed})
    found = []
    for case, phase, remedies in measured[KEYS].itertuples(index=False):
        low, usual, high = predicted(plain[case][phase], remedies.split("+"))
        found.append((case, phase, remedies, "ok", walls[case, phase], low, usual, high))
    columns = [*KEYS, "status", "plain_ms", "low_ms", "predicted_ms", "high_ms"]
    return pd.DataFrame(found, columns=columns)


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
    given = parser.parse_args()
    found = [(tables, of_run(tables)) for tables in given.tables]
    found += [(folder, of_blind(folder, BLIND_RUN)) for folder in given.blind]
    rows = pd.concat(
        [part.assign(run=str(path), source=name) for path, parts in found for name, part in parts],
        ignore_index=True,
    )
    with pd.option_context("display.width", 200, "display.max_rows", 500):
        print(scored(rows, ["developed", "source", "phase"]).round(3).to_string())
        print(scored(rows, ["developed", "source", "phase", "remedies"]).round(3).to_string())
        if given.blind:
            print(firsts(rows).to_string())
    if given.output:
        rows.to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
