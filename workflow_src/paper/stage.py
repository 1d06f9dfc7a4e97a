"""The stage that writes a chapter for the report, with its long tables and its JSON."""

import argparse
from typing import TypeVar

from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.paper.chapter import Chapter
from workflow_src.paper.written import EMPTY

T = TypeVar("T")
R = TypeVar("R")


def chapter_parser(description: str | None) -> Parser:
    """The arguments of each such command; what tables it reads is its own affair."""
    parser = Parser(description=description)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=existing_folder, required=True, help="folder of its texts")
    parser.add_argument("--figure", type=new_file, help="an SVG without anything, as it draws none")
    parser.add_argument("--log", default="its log", help="what a failed chapter refers to")
    return parser


def write(chapter: Chapter[T, R], name: str, tables: T, given: argparse.Namespace) -> None:
    """Write a chapter's files, named `name`, as the arguments of chapter_parser say.

    A defect of this program doesn't end the run: the chapter then says that it could not be
    written, and its log has the traceback.
    """
    if getattr(given, "figure", None):
        write_text(given.figure, EMPTY)
    chapter.written(tables, given.templates, given.log).write(given.output, name)
