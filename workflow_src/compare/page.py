"""How a comparison is written: as Markdown, HTML, CSV and, with the verdict and last, JSON."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.compare.gate import STATUSES, USAGE_STATUS
from workflow_src.paper.page import page
from workflow_src.paper.plain import told
from workflow_src.paper.written import Facts, Written
from workflow_src.paper.written import write as written

SCHEMA = 1
"""Of compare.json, which docs/agents.md describes."""


@dataclass(frozen=True)
class Compared:
    """Two folders compared: what the template says, all rows by CSV, and what else the JSON
    says."""

    facts: Facts
    tables: Mapping[str, pd.DataFrame]
    said: Mapping[str, Any]


def comparison_parser(prog: str, description: str | None, a: str, b: str) -> Parser:
    """The arguments of a comparison; `a` and `b` say of what."""
    parser = Parser(prog=prog, description=description)
    for name, text in (("--a", a), ("--b", b)):
        parser.add_argument(name, type=existing_folder, required=True, help=text)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    return parser


def write(found: Compared, template: str, templates: Path, output: Path) -> int:
    """Write a comparison and print its verdict; gives the status. Exits with USAGE_STATUS if the
    comparison can't be printed."""
    made = write_texts("compare", found.facts, f"{template}.j2", templates, output)
    if made.verdict not in STATUSES:
        sys.exit(USAGE_STATUS)
    for name, table in found.tables.items():
        write_csv(output / f"{name}.csv", table)
    status = {"schema": SCHEMA, "kind": "comparison", "status": STATUSES[made.verdict]}
    write_json(output / "compare.json", status | told(found.said) | made.said())
    print(made.markdown["headline"])
    return STATUSES[made.verdict]


def write_texts(name: str, facts: Facts, template: str, templates: Path, output: Path) -> Written:
    """Write {name}.md and {name}.html, of one chapter with its appendix."""
    made = written(name, lambda: facts, templates, [template], level="#")
    text, blocks = (
        [made.text(f"{part}{kind}", templates) for part in ("", "appendix.")]
        for kind in ("md", "html")
    )
    write_text(output / f"{name}.md", "\n\n".join(text).strip() + "\n")
    bar = {f"{name}-tables": "Tables"}
    whole = page(made.markdown["title"], blocks, made.evidence, bar, templates)
    write_text(output / f"{name}.html", whole)
    return made
