"""Read one capture into a folder: its tables, and one step as a picture.

A capture is a report of nsys or its export as SQLite, or a trace of torch.profiler, compressed or
not; or such traces of all ranks of one job.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from workflow_src.captures.capture import UNREADABLE, Capture, Note
from workflow_src.captures.domains import domain_names
from workflow_src.captures.export_case import exported
from workflow_src.captures.files import add_limit, within_limit
from workflow_src.common.arguments import Parser, new_folder, pattern, positive
from workflow_src.common.atomic_write import write_csv, write_text
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.attributed import attributed
from workflow_src.placing.ranks import read_all
from workflow_src.tables.capture_tables import TABLES, tables_of
from workflow_src.timeline.picture import draw
from workflow_src.timeline.steps import timeline


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how a capture is read."""
    step = "name of the ranges that are steps; a * in it stands for a number; all: one step"
    step_ms = "time of a step without a profiler, as a trainer logs it (ms): savings are of that"
    domains = "NVTX domains whose ranges count, by commas; without it all but libraries' own"
    fold = "pattern of what is left out of ranges' names, so that layers are one: \\.\\d+"
    parser.add_argument("--step", metavar="NAME", default="", help=step)
    parser.add_argument("--step-ms", metavar="MS", type=positive, help=step_ms)
    parser.add_argument("--domains", metavar="NAMES", type=domain_names, help=domains)
    parser.add_argument("--fold", metavar="PATTERN", type=pattern, help=fold)
    add_limit(parser)


def write_capture(given: argparse.Namespace, folder: Path, note_problem: bool = False) -> None:
    """Write the tables of a capture into a folder, and a step of it.

    given: `capture`, its files, and add_options'. Raises TraceError if it can't be read; with
    note_problem, writes tables that say why instead.
    """
    try:
        files = exported(given.capture, folder)
        with within_limit(argparse.Namespace(**vars(given) | {"capture": files})):
            found = attributed(read_all(files), given.domains, fold=given.fold, step=given.step)
            tables = tables_of(found, given.step_ms and given.step_ms * NS_PER_MS)
            step = timeline(found)
    except TraceError as error:
        if not note_problem:
            raise
        nothing = Capture.of({}, (Note(UNREADABLE, 1, str(error)),))
        found = attributed(nothing, None)
        tables, step = tables_of(found), timeline(found)
    for name in TABLES:
        write_csv(folder / f"{name}.csv", tables[name])
    write_text(folder / "step.svg", draw(step))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read one capture."""
    parser = Parser(prog="workflow_src.cli.read_capture", description=__doc__)
    several = "the capture; several files: traces of one job's ranks"
    parser.add_argument("--capture", type=Path, nargs="+", required=True, help=several)
    add_options(parser)
    problem = "write why it can't be read, and don't fail"
    parser.add_argument("--note-problem", action="store_true", help=problem)
    parser.add_argument("--output", type=new_folder, required=True, help="the folder")
    given = parser.parse_args(arguments)
    with one_sentence():
        write_capture(given, given.output, given.note_problem)


if __name__ == "__main__":
    main()
