"""How a comparison is written: as Markdown, HTML, CSV and, with the verdict and last, JSON."""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.compare.gate import STATUSES, USAGE_STATUS, usage_status
from workflow_src.paper.page import page
from workflow_src.paper.written import Facts
from workflow_src.paper.written import write as written

S = TypeVar("S")


@dataclass(frozen=True)
class Compared:
    """Two folders compared: what the template says, all rows by CSV, and what else the JSON says.

    Frames of the JSON become lists of rows.
    """

    facts: Facts
    tables: Mapping[str, pd.DataFrame]
    said: Mapping[str, Any]


def comparison_parser(prog: str, description: str | None, a: str, b: str) -> Parser:
    """The arguments of a comparison; `a` and `b` say what is compared."""
    parser = Parser(prog=prog, description=description)
    for name, text in (("--a", a), ("--b", b)):
        parser.add_argument(name, type=existing_folder, required=True, help=text)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    return parser


def write(
    given: argparse.Namespace,
    template: str,
    read: Callable[[Path], S],
    compare: Callable[[S, S], Compared],
) -> None:
    """Compare two folders, write what was found and print the verdict."""
    with usage_status():
        found = compare(read(given.a), read(given.b))
        names = [f"{template}.j2"]
        made = written("compare", lambda: found.facts, given.templates, names, level="#")
        if made.verdict not in STATUSES:
            sys.exit(USAGE_STATUS)
        text, blocks = (
            [made.text(f"{part}{kind}", given.templates) for part in ("", "appendix.")]
            for kind in ("md", "html")
        )
        write_text(given.output / "compare.md", "\n\n".join(text) + "\n")
        bar = {"compare-tables": "Tables"}
        whole = page(made.markdown["title"], blocks, made.evidence, bar, given.templates)
        write_text(given.output / "compare.html", whole)
        for name, table in found.tables.items():
            write_csv(given.output / f"{name}.csv", table)
        said = {name: _plain(value) for name, value in found.said.items()}
        status = {"status": STATUSES[made.verdict]}
        write_json(given.output / "compare.json", status | said | made.said())
        print(made.markdown["headline"])


def _plain(value: Any) -> Any:
    """A value for strict JSON: frames as rows, NaN as null."""
    if isinstance(value, pd.DataFrame):
        return value.astype(object).where(value.notna(), None).to_dict("records")
    return value
