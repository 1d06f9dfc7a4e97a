"""Write the table of every case: as Markdown, for the page, and the values that they print."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.answers.case_card import case_card
from workflow_src.answers.change_first.first import First, firsts
from workflow_src.answers.questions import CARDS
from workflow_src.answers.tables import Tables
from workflow_src.common.arguments import existing_folder
from workflow_src.common.errors import attempt, one_sentence
from workflow_src.paper.chapter import as_json, not_written
from workflow_src.paper.markdown import escape
from workflow_src.paper.show import Printer
from workflow_src.paper.stage import chapter_parser
from workflow_src.paper.templates import render
from workflow_src.paper.texts import Texts, for_programs

TEMPLATE = "case_card.md.j2"
WORDS = "card_words.md.j2"
"""What the rows of all cards mean."""
NAME = "cards"


@dataclass(frozen=True)
class Written:
    """A card's table, and the card as Markdown and for the page."""

    table: pd.DataFrame
    text: str
    page: str


def cards(tables: Tables, templates: Path, log: str = "its log") -> Texts:
    """A card per case; one that can't be made says so."""
    found, plain, linked = firsts(tables), Printer(), Printer(page=True)
    of_cases = {
        case.case: _card(tables, found[case], templates, (plain, linked), log)
        for case in tables.cases
    }
    values = [for_programs(value) for value in dict.fromkeys(linked.printed)]
    pages = {case: card.page for case, card in of_cases.items()}
    said = {"question": NAME, "title": CARDS.title, "values": values, "pages": pages}
    meaning = render(templates, WORDS, plain, tables=[card.table for card in of_cases.values()])
    text = "\n".join([meaning, *(card.text for card in of_cases.values())])
    page = "\n".join([meaning, *pages.values()])
    return Texts(text, page, "", "", as_json(said))


def _card(
    tables: Tables, first: First, templates: Path, printers: tuple[Printer, Printer], log: str
) -> Written:
    """A case's card by each printer."""

    def made() -> Written:
        card = case_card(tables, first.case, first)
        text, page = (
            render(templates, TEMPLATE, show, card=card, heading="###") for show in printers
        )
        return Written(card.table, text, page)

    failed = not_written(f"### {escape(first.case.case)}", log)
    return attempt(made, lambda: Written(pd.DataFrame(), failed, failed))


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write all cards into the answers' folder, named `cards`."""
    parser = chapter_parser(__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    given = parser.parse_args(arguments)
    tables = Tables.read(given.tables, CARDS.tables, CARDS.optional)
    tables = tables.with_studies(given.tables, CARDS.studies)
    cards(tables, given.templates, given.log).write(given.output, NAME)


if __name__ == "__main__":
    main()
