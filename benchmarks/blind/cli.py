"""Blind captures: record some, show their first screens, and score what a reader says of them."""

import argparse
import contextlib
import io
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.blind.record import KEY, PLAIN, record, record_windows
from benchmarks.blind.score import score
from benchmarks.blind.screens import first_screen


def screens(folder: Path, output: Path) -> None:
    """Write the first screen of each capture, with its plain step's time given."""
    output.mkdir(parents=True, exist_ok=True)
    for name, plain_ms in pd.read_csv(folder / PLAIN).itertuples(index=False):
        capture = next(path for path in folder.glob(f"{name}.*.gz"))
        with contextlib.redirect_stdout(io.StringIO()):
            text = first_screen(capture, name, "--step-ms", f"{plain_ms:.4g}")
        (output / f"{name}.md").write_text(text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.blind.cli", description=__doc__)
    asked = parser.add_subparsers(dest="command", required=True)
    recording = asked.add_parser("record", help="measure and record programs with unknown faults")
    recording.add_argument("output", type=Path, help="a folder for captures and the key")
    recording.add_argument("--count", type=int, default=12)
    recording.add_argument("--seed", type=int, help="that of an earlier key; else the clock's")
    recording.add_argument("--tiny", action="store_true", help="sizes for trying it on a CPU")
    showing = asked.add_parser("screens", help="write the first screen of each capture")
    showing.add_argument("captures", type=Path)
    showing.add_argument("output", type=Path)
    scoring = asked.add_parser("score", help="a CSV of name, cause, ms beside the key")
    scoring.add_argument("answers", type=Path)
    scoring.add_argument("key", type=Path)
    asked.add_parser("windows", help="what record runs under nsys").add_argument("key", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "record":
        given.output.mkdir(parents=True, exist_ok=True)
        seed = given.seed if given.seed is not None else time.time_ns() % 2**31
        record(given.output, seed, given.count, given.tiny)
        print(f"{given.output / KEY} is the key: don't open it before the answers are written")
    elif given.command == "screens":
        screens(given.captures, given.output)
    elif given.command == "score":
        print(score(given.answers, given.key))
    else:
        record_windows(given.key)


if __name__ == "__main__":
    main()
