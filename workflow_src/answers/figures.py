"""Draw one of the report's figures from the joined tables; equal tables give identical bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from workflow_src.answers.questions import FIGURES, OPTIONAL_OF_FIGURES
from workflow_src.answers.step_parts import figure as step_parts
from workflow_src.answers.tables import Tables
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import one_sentence
from workflow_src.paper.drawing import drawn

DRAW: dict[str, Callable[[Tables], Figure]] = {
    "step_parts": step_parts.draw,
}
"""What draws each figure; the keys are those of FIGURES."""


def draw(tables: Tables, name: str) -> Figure:
    """The figure `name`."""
    return DRAW[name](tables)


def figure(tables: Tables, name: str, log: str) -> str:
    """The figure `name` as SVG; one that says so if it can't be drawn."""
    return drawn(partial(draw, tables, name), name, log)


def read(folder: Path, name: str) -> Tables:
    """The tables of a figure."""
    return Tables.read(folder, FIGURES[name], OPTIONAL_OF_FIGURES.get(name, ()))


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Draw one figure."""
    parser = Parser(prog="workflow_src.answers.figures", description=__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
    parser.add_argument("--output", type=new_file, required=True, help="an .svg")
    parser.add_argument("--log", default="its log", help="what a failed figure refers to")
    given = parser.parse_args(arguments)
    tables = read(given.tables, given.figure)
    write_text(given.output, figure(tables, given.figure, given.log))


if __name__ == "__main__":
    main()
