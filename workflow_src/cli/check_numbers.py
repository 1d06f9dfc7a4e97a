"""List every number in the text of the answers with the values that it can come from."""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.answers.provenance import numerals
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading

COLUMNS = ("question", "line", "number", "source", "sources")


def numbers_of(folder: Path, question: str) -> pd.DataFrame:
    """A row per number of an answer: its line, its first source, and how many sources there are.

    Raises StageError if the answer's JSON or Markdown is missing or damaged.
    """
    paths = folder / f"{question}.json", folder / f"{question}.md"
    with reading(paths[0], "an answer", remake(paths[0]), StageError):
        answer = json.loads(paths[0].read_text(encoding="utf-8"))
        with reading(paths[1], "Markdown", remake(paths[1]), StageError):
            text = paths[1].read_text(encoding="utf-8")
        found = numerals(text, answer)
    rows = [(question, n.line, n.text, next(iter(n.sources), ""), len(n.sources)) for n in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the list, and fail if nothing supports a number."""
    parser = Parser(prog="workflow_src.cli.check_numbers", description=__doc__)
    parser.add_argument(
        "--answers", type=existing_folder, required=True, help="folder of a.json, a.md and so on"
    )
    parser.add_argument("--output", type=new_file, required=True, help="a row per number")
    given = parser.parse_args(arguments)
    numbers = pd.concat([numbers_of(given.answers, q) for q in QUESTIONS], ignore_index=True)
    write_csv(given.output, numbers)
    lost = numbers[numbers["sources"] == 0]
    if len(lost):
        first = lost.iloc[0]
        raise StageError(
            f"{len(lost)} of {len(numbers)} numbers come from nothing in the answers, the first "
            f"of them {first['number']} in line {first['line']} of {first['question']}.md"
        )
    print(f"{len(numbers)} numbers, each with a source")


if __name__ == "__main__":
    main()
