"""List every number of a run's report.md with the values that it can come from.

Lines are those of each part by itself; of report.md without its answers and studies, as `opening`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.provenance import Numeral, numerals, numerals_from, values
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.report import report
from workflow_src.report.linked import Prose
from workflow_src.studies.section import NO_CEILINGS, Section, read_table
from workflow_src.studies.study import STUDIES

COLUMNS = ("part", "line", "number", "source", "sources")


def answer(folder: Path, question: str) -> list[Numeral]:
    """The numbers of an answer. Raises StageError if its JSON or Markdown is missing or damaged."""
    path = folder / f"{question}.json"
    with reading(path, "an answer", remake(path), StageError):
        held = json.loads(path.read_text(encoding="utf-8"))
        return numerals(report.text_of(folder / f"{question}.md"), held)


def section(
    text: str, table: pd.DataFrame, study: str, ceilings: pd.DataFrame = NO_CEILINGS
) -> list[Numeral]:
    """The numbers of a study's section, which its sentences and tables take from its table."""
    made: Section = import_module(f"workflow_src.studies.{study}.section").SECTION
    said = values(made.said(table, ceilings), study)
    return numerals_from(text, said, values(made.tables(table), study))


def opening(sources: report.Sources, tag: str) -> list[Numeral]:
    """The numbers of all that report.md says besides the answers and the studies."""
    about = report.variables(*report.read_tables(sources), sources) | {"suite": "", "tag": tag}
    text = report.report_text(about, sources, Path(), Prose(dict.fromkeys(QUESTIONS, Markup(""))))
    said = {name: value for name, value in about.items() if not isinstance(value, Markup)}
    return numerals_from(text, values(said, "opening"), values(about, "opening"))


def numbers(results: Path, templates: Path) -> pd.DataFrame:
    """A row per number of a run's report: where it is, its first source, and how many there are."""
    return pd.DataFrame(_rows(_parts(results, templates)), columns=list(COLUMNS))


def _parts(results: Path, templates: Path) -> Iterator[tuple[str, list[Numeral]]]:
    tables, answers, figures = (results / name for name in ("tables", "answers", "figures"))
    sources = report.Sources(tables, answers, figures, templates, results / "plan.csv")
    yield "opening", opening(sources, results.name)
    for question in QUESTIONS:
        yield f"answers/{question}.md", answer(answers, question)
    held = tables / "ceilings.csv"
    ceilings = read_table(held) if held.is_file() else NO_CEILINGS
    for study in STUDIES:
        path = results / "sections" / f"{study}.md"
        if path.is_file():
            table = read_table(tables / "studies" / f"{study}.csv")
            yield f"sections/{study}.md", section(report.text_of(path), table, study, ceilings)


def _rows(parts: Iterable[tuple[str, list[Numeral]]]) -> list[tuple[str, int, str, str, int]]:
    return [
        (part, each.line, each.text, next(iter(each.sources), ""), len(each.sources))
        for part, found in parts
        for each in found
    ]


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the list, and fail if nothing supports a number."""
    parser = Parser(prog="workflow_src.cli.check_numbers", description=__doc__)
    parser.add_argument(
        "--results", type=existing_folder, required=True, help="a run's folder: results/{tag}"
    )
    parser.add_argument(
        "--templates", type=existing_folder, default=Path("report_templates"), help="%(default)s"
    )
    parser.add_argument("--output", type=new_file, required=True, help="a row per number")
    given = parser.parse_args(arguments)
    found = numbers(given.results, given.templates)
    write_csv(given.output, found)
    lost = found[found["sources"] == 0]
    if len(lost):
        first = lost.iloc[0]
        raise StageError(
            f"{len(lost)} of {len(found)} numbers come from nothing in the tables, the first of "
            f"them {first['number']} in line {first['line']} of {first['part']}"
        )
    print(f"{len(found)} numbers, each with a source")


if __name__ == "__main__":
    main()
