"""How a comparison is written: as Markdown, HTML, CSV and, with the verdict and last, JSON."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.compare.gate import usage_status
from workflow_src.paper.chapter import Chapter, Words
from workflow_src.paper.html import make_html

S = TypeVar("S")
R = TypeVar("R")

SHOWN = 20
"""Rows of a table in Markdown; CSVs and the page have all."""


def comparison_parser(prog: str, description: str | None, a: str, b: str) -> Parser:
    """The arguments of a comparison; `a` and `b` say what is compared."""
    parser = Parser(prog=prog, description=description)
    for name, text in (("--a", a), ("--b", b)):
        parser.add_argument(name, type=existing_folder, required=True, help=text)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    return parser


def shown(both: object, result: object, whole: bool) -> Words:
    """The rows of its tables that a text shows."""
    return {"shown": None if whole else SHOWN}


def write(
    given: argparse.Namespace,
    chapter: Chapter[tuple[S, S], R],
    read: Callable[[Path], S],
    csvs: Callable[[R], Mapping[str, pd.DataFrame]],
    as_dict: Callable[[R], Words],
) -> None:
    """Compare two folders, write what was found and print the verdict.

    `csvs` gives a result's complete tables by file name, `as_dict` what its JSON says.
    """
    with usage_status():
        both = read(given.a), read(given.b)
        result, folder = chapter.result(both), given.output
        texts, verdict = chapter.worded(both, result, given.templates), as_dict(result)
        page = make_html(texts.page, folder, given.templates)
        write_text(folder / "compare.md", texts.markdown)
        write_text(folder / "compare.html", page)
        for name, table in csvs(result).items():
            write_csv(folder / f"{name}.csv", table)
        write_json(folder / "compare.json", verdict)
        print(verdict["verdict"])
