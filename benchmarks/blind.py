"""What a reader of first screens alone finds: screens of captures without their key, and a score.

A folder of captures has plain.csv (name, plain_ms) and a sealed key.csv.gz (name, fault, pace,
profiler, plain_ms, cost_ms), as their recorder left them; benchmarks/README.md says where it is.
"""

import argparse
import contextlib
import io
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.capture_report.capture import Capture
from workflow_src.capture_report.report import chapter
from workflow_src.cli import read_capture
from workflow_src.common.errors import StageError
from workflow_src.paper.run import Run

TEMPLATES = Path(__file__).parents[1] / "report_templates"

DOES = r"What takes the device's time|By what the work does"
"""Begins the first table of what a step does, with steps and without."""

NO_FAULT = "none"

ANSWERS = ("name", "cause", "ms")
"""Columns of a reader's file: the cause by its key in docs/findings.md, or "none", and what a step
would save without it."""

NEAR = 0.1
"""Of a step's time: milliseconds that differ by no more are near."""


def first_screen(capture: Path, name: str, *options: str) -> str:
    """The headline and the tables of findings and of a step's time, as Markdown.

    options: as of workflow_src.cli.read_capture, such as --step-ms.
    """
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / name
        asked = ["--capture", str(capture), *options, "--note-problem", "--output", str(tables)]
        read_capture.main(asked)
        recorded = Capture(Run.of_capture(tables), name)
        texts = chapter(recorded, tables, tables, TEMPLATES, "its log").markdown
    # What is said, found and left of a step; then follow tables of what it does.
    parts = [texts["section"], re.split(DOES, texts["tables"])[0]]
    return "\n\n".join([f"## {name}", f"**{texts['headline']}**", *parts]).strip() + "\n"


def screens(folder: Path, output: Path) -> None:
    """Write the first screen of each capture, with its plain step's time given."""
    output.mkdir(parents=True, exist_ok=True)
    for name, plain_ms in pd.read_csv(folder / "plain.csv").itertuples(index=False):
        capture = next(path for path in folder.glob(f"{name}.*.gz"))
        with contextlib.redirect_stdout(io.StringIO()):
            text = first_screen(capture, name, "--step-ms", f"{plain_ms:.4g}")
        (output / f"{name}.md").write_text(text)


def scored(answers: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """A row per capture: fault, cause, named (whether they agree), cost_ms, ms, off (share of a
    step), near.

    Raises StageError if a column or an answer is missing.
    """
    if missing := [name for name in ANSWERS if name not in answers]:
        raise StageError(f"answers have no column {missing[0]!r}; they need {', '.join(ANSWERS)}")
    if unanswered := sorted(set(key["name"]) - set(answers["name"])):
        raise StageError(
            f"answers have no row of {unanswered[0]!r}; write none if nothing is wrong"
        )
    table = key.merge(answers[list(ANSWERS)], on="name", how="left", validate="one_to_one")
    cost = table["cost_ms"].where(table["fault"] != NO_FAULT, 0.0)
    off = (table["ms"].fillna(0.0) - cost).abs() / table["plain_ms"]
    table = table.assign(named=table["cause"] == table["fault"], cost_ms=cost, off=off)
    columns = ["name", "fault", "cause", "named", "pace", "profiler", "plain_ms", "cost_ms", "ms"]
    return table.assign(near=off <= NEAR)[[*columns, "off", "near"]]


def summary(table: pd.DataFrame) -> str:
    """How many were named, and how many of these are near."""
    named = table[table["named"]]
    if named.empty:
        return f"0 of {len(table)} named"
    return (
        f"{len(named)} of {len(table)} named; of these {int(named['near'].sum())} within "
        f"{100 * NEAR:.0f} % of a step, the worst off by {100 * named['off'].max():.0f} %"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write screens, or print a reader's score."""
    parser = argparse.ArgumentParser(prog="benchmarks.blind", description=__doc__)
    asked = parser.add_subparsers(dest="command", required=True)
    showing = asked.add_parser("screens", help="write the first screen of each capture")
    showing.add_argument("captures", type=Path)
    showing.add_argument("output", type=Path)
    scoring = asked.add_parser("score", help="a CSV of name, cause, ms beside the key")
    scoring.add_argument("answers", type=Path)
    scoring.add_argument("key", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "screens":
        screens(given.captures, given.output)
        return
    table = scored(pd.read_csv(given.answers), pd.read_csv(given.key, keep_default_na=False))
    print(f"{table.round(3).to_string(index=False)}\n{summary(table)}")


if __name__ == "__main__":
    main()
