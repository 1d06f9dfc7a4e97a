"""Write the table of every case: as Markdown, for the page, and the values that they print."""

import json
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers.case_card import case_card
from workflow_src.answers.change_first.savings import First, firsts
from workflow_src.answers.questions import CARDS
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.arguments import Parser, existing_folder
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.render.show import Printer
from workflow_src.render.templates import render
from workflow_src.render.texts import for_programs

TEMPLATE = "case_card.md.j2"
NAME = "cards"


@dataclass(frozen=True)
class Cards:
    """The cards of all cases as written: Markdown, the same for the page, and JSON."""

    markdown: str
    page: str
    json: str


def cards(tables: Tables, templates: Path) -> Cards:
    """A card per case; one that can't be made says so, and its traceback is on stderr."""
    plain, linked, found = Printer(), Printer(page=True), firsts(tables)
    texts = {
        printer.page: [
            _text(tables, case, found[case], templates, printer) for case in tables.cases
        ]
        for printer in (plain, linked)
    }
    values = [for_programs(value) for value in dict.fromkeys(linked.printed)]
    pages = {case.case: text for case, text in zip(tables.cases, texts[True], strict=True)}
    said = {"question": NAME, "title": CARDS.title, "values": values, "pages": pages}
    return Cards(
        markdown="\n".join(texts[False]),
        page="\n".join(texts[True]),
        json=json.dumps(said, indent=1, ensure_ascii=False) + "\n",
    )


def _text(tables: Tables, case: CaseKey, first: First, templates: Path, printer: Printer) -> str:
    try:
        card = case_card(tables, case, first)
        return render(templates, TEMPLATE, printer, card=card, heading="###")
    except StageError:
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return f"### {printer(case.case)}\n\nThis table could not be written: see its log.\n"


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
