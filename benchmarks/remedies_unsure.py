"""What predictions of remedies are uncertain by beyond what they know of: from recorded cases.

Reads what `python -m benchmarks.remedies ... --output ROWS.csv` wrote. For each comparison, what is
left of its error beyond its interval without REMOVED_UNSURE and HOST_UNSURE, as a share of the
device's work that goes, and of the time in which the device wouldn't work; the 95th percentiles of
these are the two. Then how many lie inside if they are taken from all other cases, and from the
other runs. --hosts: what TIMES_FORWARD of diagnosis/remedies/host.py is taken from.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.diagnosis.remedies.host import TIMES_FORWARD
from workflow_src.diagnosis.remedies.predict import HOST_UNSURE, REMOVED_UNSURE
from workflow_src.diagnosis.remedies.work import FORWARD
from workflow_src.tables.remedies import read_run

LEVEL = 0.95

DEVICE_BOUND = 0.7
"""The share of a predicted time from which on the device's work tells more of it than the host."""

SOME_WORK = 0.01
"""The least share of a step's device work that counts as going."""


def prepared(rows: pd.DataFrame) -> pd.DataFrame:
    """With off_ms and half_ms (without the two), removed_ms and host_ms, and `device`."""
    graph = rows["remedies"].str.contains("graph")
    device_ms = rows["plain_device_ms"]
    removed = (device_ms - rows["device_ms"]).abs()
    host = (rows["predicted_ms"] - rows["device_ms"]).clip(lower=0).where(~graph, 0.0)
    off = rows["measured_ms"] - rows["predicted_ms"]
    above, below = rows["high_ms"] - rows["predicted_ms"], rows["predicted_ms"] - rows["low_ms"]
    square = above.where(off > 0, below) ** 2
    square -= (REMOVED_UNSURE * removed) ** 2 + (HOST_UNSURE * host) ** 2
    return rows.assign(
        off_ms=off.abs(),
        half_ms=np.sqrt(square.clip(lower=0)),
        removed_ms=removed.clip(lower=SOME_WORK * device_ms),
        host_ms=host,
        device=graph | (rows["device_ms"] > DEVICE_BOUND * rows["predicted_ms"]),
    )


def unsure(rows: pd.DataFrame) -> tuple[float, float]:
    """The two shares: of the device's work that goes, from remedies that a study tried; the host's.

    A run's own tables tell only of products in another precision.
    """
    beyond = np.sqrt((rows["off_ms"] ** 2 - rows["half_ms"] ** 2).clip(lower=0))
    tried = rows["device"] & (rows["source"] == "levers")
    removed = float((beyond / rows["removed_ms"])[tried].quantile(LEVEL))
    host = ~rows["device"]
    rest = np.sqrt((beyond**2 - (removed * rows["removed_ms"]) ** 2).clip(lower=0))
    return removed, float((rest / rows["host_ms"])[host].quantile(LEVEL))


def inside(rows: pd.DataFrame, removed: float, host: float) -> "pd.Series[bool]":
    """Which comparisons lie in an interval with these shares."""
    square = rows["half_ms"] ** 2 + (removed * rows["removed_ms"]) ** 2
    return rows["off_ms"] <= np.sqrt(square + (host * rows["host_ms"]) ** 2)


def left_out(rows: pd.DataFrame, by: str) -> float:
    """The share inside, where each group's shares are taken from all others."""
    groups = [(each, rows.drop(each.index)) for _, each in rows.groupby(by)]
    return float(pd.concat([inside(each, *unsure(others)) for each, others in groups]).mean())


def hosts(tables: list[Path]) -> pd.DataFrame:
    """The host's time for a launch in other passes over forward's, of launch-bound ones."""
    found = []
    for folder in tables:
        for case in read_run(folder, [folder / "ceilings.csv"]).cases().values():
            bound = {k: each.host_ns for k, each in case.solutions.items() if each.launch_bound}
            first = bound.get(FORWARD, 0.0)
            found += [
                {"pass": name, "ratio": bound[name] / first}
                for name in TIMES_FORWARD
                if first and bound.get(name)
            ]
    ratios = pd.DataFrame(found).groupby("pass")["ratio"]
    log = np.log(pd.DataFrame(found).set_index("pass")["ratio"]).groupby("pass")
    return ratios.describe(percentiles=[0.025, 0.5, 0.975]).join(log.std().rename("log_std"))


def main() -> None:
    """Print the shares and how many comparisons they hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, nargs="?", help="what benchmarks.remedies wrote")
    parser.add_argument("--hosts", type=Path, nargs="*", default=[], help="folders of tables")
    given = parser.parse_args()
    if given.rows:
        rows = prepared(pd.read_csv(given.rows))
        removed, host = unsure(rows)
        print(f"of the device's work that goes {removed:.3f}, of the host's time {host:.3f}")
        print(f"inside {inside(rows, removed, host).mean():.3f}; with the present constants")
        print(f"{inside(rows, REMOVED_UNSURE, HOST_UNSURE).mean():.3f}")
        for by in ("case", "run"):
            print(f"each {by} by the others: {left_out(rows, by):.3f}")
    if given.hosts:
        print(hosts(given.hosts).round(3).to_string())


if __name__ == "__main__":
    main()
