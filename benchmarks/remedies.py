"""How near predicted remedies come to what published runs measured of them.

What was measured of a remedy is in a run's timings.csv (the same case in bf16 or tf32, and replays
of CUDA graphs) and in its studies/levers.csv, whose plain steps, of another process, take the place
of the run's. Rules were made on the cases of DEVELOPED; the others were looked at once.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from workflow_src.common.remedies import REMEDIES
from workflow_src.diagnosis.remedies.run import Run, predictions

KEYS = ["case", "phase", "remedies"]
NEEDED = ("timings", "operators", "products", "ceilings")

DEVELOPED = (*("ctx128", "ctx512"), "medium-ctx256-bf16")
"""In the names of the cases on which rules were made."""

PHASES = ("forward", "train_step")


def ordered(remedies: str) -> str:
    """Remedies in the order of predictions."""
    return "+".join(sorted(remedies.split("+"), key=REMEDIES.index))


def in_timings(timings: pd.DataFrame) -> pd.DataFrame:
    """What a run's own timings tell of remedies: KEYS and measured_ms."""
    ok = timings[timings["status"] == "ok"]
    like = ["size", "context", "batch", "attention", "optimizer", "phase"]
    parts = [ok.assign(measured_ms=ok["replayed_median_ms"], remedies="graph")]
    for wider, narrower in (("fp32", "bf16"), ("tf32", "bf16"), ("fp32", "tf32")):
        before, after = (ok[ok["precision"] == each] for each in (wider, narrower))
        pairs = before[["case", *like]].merge(after.drop(columns="case"), on=like)
        for column, more in (("median_ms", ""), ("replayed_median_ms", "+graph")):
            parts.append(pairs.assign(measured_ms=pairs[column], remedies=narrower + more))
    return pd.concat(parts)[[*KEYS, "measured_ms"]].dropna(subset="measured_ms")


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


def of_run(tables: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The comparisons of a run by what they are with."""
    run = {name: pd.read_csv(tables / f"{name}.csv") for name in NEEDED}
    predicted = pd.read_csv(tables / "remedies.csv")
    yield "timings", compared(predicted, in_timings(run["timings"]))
    path = tables / "studies" / "levers.csv"
    if path.is_file():
        levers = pd.read_csv(path)
        cases = [case for case in levers["case"].unique() if case in set(run["timings"]["case"])]
        timings = with_plain(run["timings"], levers)
        predicted = pd.DataFrame(predictions(Run(**run | {"timings": timings}), cases))
        yield "levers", compared(predicted, in_levers(levers))


def main() -> None:
    """Print how predictions fare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path, nargs="*", help="folders of joined tables")
    given = parser.parse_args()
    parts = [
        rows.assign(source=source) for tables in given.tables for source, rows in of_run(tables)
    ]
    rows = pd.concat(parts, ignore_index=True)
    with pd.option_context("display.width", 200, "display.max_rows", 500):
        print(scored(rows, ["developed", "source", "phase"]).round(3).to_string())
        print(scored(rows, ["developed", "source", "phase", "remedies"]).round(3).to_string())


if __name__ == "__main__":
    main()
