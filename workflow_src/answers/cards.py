"""Write the table of every case: as Markdown, for the page, and the values that they print."""

import json
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers.case_card import case_card
from workflow_src.answers.change_first.first import First, firsts
from workflow_src.answers.questions import CARDS
from workflow_src.answers.tables import Tables
from workflow_src.common.arguments import Parser, existing_folder
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.render.markdown import escape
from workflow_src.render.show import Printer
from workflow_src.render.templates import render
from workflow_src.render.texts import for_programs

TEMPLATE = "case_card.md.j2"
WORDS = "card_words.md.j2"
"""What the rows of all cards mean."""
NAME = "cards"


@dataclass(frozen=True)
class Cards:
    """The cards of all cases as written: Markdown, the same for the page, and JSON."""

    markdown: str
    page: str
    json: str


def cards(tables: Tables, templates: Path) -> Cards:
    """A card per case; one that can't be made says so, and its traceback is on stderr."""
    found, plain, linked = firsts(tables), Printer(), Printer(page=True)
    written = [_texts(tables, found[case], templates, (plain, linked)) for case in tables.cases]
    values = [for_programs(value) for value in dict.fromkeys(linked.printed)]
    pages = {case.case: page for case, (_, page) in zip(tables.cases, written, strict=True)}
    said = {"question": NAME, "title": CARDS.title, "values": values, "pages": pages}
    about = render(templates, WORDS, plain)
    return Cards(
        markdown="\n".join([about, *(text for text, _ in written)]),
        page="\n".join([about, *(text for _, text in written)]),
        json=json.dumps(said, indent=1, ensure_ascii=False) + "\n",
    )


def _texts(
    tables: Tables, first: First, templates: Path, printers: tuple[Printer, Printer]
) -> tuple[str, str]:
    """A case's card by each printer."""
    try:
        card = case_card(tables, first.case, first)
        plain, linked = (
            render(templates, TEMPLATE, show, card=card, heading="###") for show in printers
        )
    except StageError:
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        said = f"### {escape(first.case.case)}\n\nThis table could not be written: see its log.\n"
        return said, said
    return plain, linked


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write all cards into the answers' folder, as cards.md, cards.page.md and cards.json."""
    parser = Parser(prog="workflow_src.answers.cards", description=__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=existing_folder, required=True, help="the answers' folder")
    given = parser.parse_args(arguments)
    written = cards(Tables.read(given.tables, CARDS.tables, CARDS.optional), given.templates)
    write_text(given.output / f"{NAME}.md", written.markdown)
    write_text(given.output / f"{NAME}.page.md", written.page)
    write_text(given.output / f"{NAME}.json", written.json)


if __name__ == "__main__":
    main()
