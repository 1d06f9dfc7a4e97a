"""Write the table of every case: as Markdown, for the page, and the values that they print."""

from collections.abc import Sequence
from pathlib import Path

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


def cards(tables: Tables, templates: Path, log: str = "its log") -> Texts:
    """A card per case; one that can't be made says so."""
    found, plain, linked = firsts(tables), Printer(), Printer(page=True)
    of_cases = {
        case.case: _card(tables, found[case], templates, (plain, linked), log)
        for case in tables.cases
    }
    values = [for_programs(value) for value in dict.fromkeys(linked.printed)]
    pages = {case: page for case, (_, page) in of_cases.items()}
    said = {"question": NAME, "title": CARDS.title, "values": values, "pages": pages}
    meaning = render(templates, WORDS, plain)
    texts = ("\n".join([meaning, *each]) for each in zip(*of_cases.values(), strict=True))
    text, page = texts if of_cases else (meaning, meaning)
    return Texts(text, page, "", "", as_json(said))


def _card(
    tables: Tables, first: First, templates: Path, printers: tuple[Printer, Printer], log: str
) -> tuple[str, str]:
    """A case's card by each printer."""

    def made() -> tuple[str, str]:
        card = case_card(tables, first.case, first)
        plain, linked = (
            render(templates, TEMPLATE, show, card=card, heading="###") for show in printers
        )
        return plain, linked

    failed = not_written(f"### {escape(first.case.case)}", log)
    return attempt(made, lambda: (failed, failed))


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
