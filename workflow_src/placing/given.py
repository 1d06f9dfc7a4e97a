"""Captures of other programs as a command is given them: the arguments, and how they are read."""

import argparse

import pandas as pd

from workflow_src.captures.domains import domain_names
from workflow_src.captures.limits import add_limits
from workflow_src.common.arguments import any_path, pattern
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.placing.joined import read_all


def add_capture(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which capture to read, and how."""
    several = ".sqlite or .json, or either .gz, or a folder; several: traces of one job's ranks"
    domains = "those whose ranges count; all but libraries' own"
    fold = "a pattern of what is left out of names: \\.\\d+; empty: all names stay as they are"
    parser.add_argument("--capture", type=any_path, nargs="+", required=True, help=several)
    parser.add_argument("--domains", type=domain_names, help=domains)
    parser.add_argument("--fold", type=pattern, help=fold)
    parser.add_argument("--step", default="", help="the name of steps' ranges, * for a number")
    add_limits(parser)
    problem = "write why it can't be read, and don't fail"
    parser.add_argument("--note-problem", action="store_true", help=problem)


def read(given: argparse.Namespace, rules: pd.DataFrame | None = None) -> Attributed:
    """The capture, with its work placed. Raises TraceError if it can't be read."""
    return attributed(read_all(given.capture), given.domains, rules, given.fold, given.step)
