"""How a comparison is written: as Markdown, HTML, CSV and, with the verdict and last, JSON."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.paper.html import make_html
from workflow_src.paper.texts import Texts


def comparison_parser(prog: str, description: str | None, a: str, b: str) -> Parser:
    """The arguments of a comparison; `a` and `b` say what is compared."""
    parser = Parser(prog=prog, description=description)
    for name, text in (("--a", a), ("--b", b)):
        parser.add_argument(name, type=existing_folder, required=True, help=text)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    return parser


def write(
    texts: Texts,
    given: argparse.Namespace,
    csvs: Mapping[str, pd.DataFrame],
    verdict: Mapping[str, object],
) -> None:
    """Write a comparison's files; `csvs`: its complete tables, by file name."""
    folder: Path = given.output
    page = make_html(texts.page, folder, given.templates)
    write_text(folder / "compare.md", texts.markdown)
    write_text(folder / "compare.html", page)
    for name, table in csvs.items():
        write_csv(folder / f"{name}.csv", table)
    write_json(folder / "compare.json", verdict)
