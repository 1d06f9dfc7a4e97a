"""Draw a case's steps from its export, and write them for Perfetto."""

from collections.abc import Sequence

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import one_sentence
from workflow_src.placing.case_capture import read_case
from workflow_src.placing.families import RULES, load_rules
from workflow_src.timeline.formats import write_trace
from workflow_src.timeline.picture import draw
from workflow_src.timeline.steps import timeline_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the timeline of one case."""
    parser = Parser(prog="workflow_src.timeline.make", description=__doc__)
    parser.add_argument("--export", type=existing_folder, required=True, help="folder of an export")
    parser.add_argument("--families", type=existing_file, default=RULES, help="families.csv")
    parser.add_argument("--svg", type=new_file, required=True, help="the picture")
    parser.add_argument("--trace", type=new_file, required=True, help="a .trace.json.gz")
    given = parser.parse_args(arguments)
    case = given.export.name
    with one_sentence(case):
        found = timeline_of(read_case(given.export), load_rules(given.families))
        write_text(given.svg, draw(found))
        write_trace(given.trace, found, case)


if __name__ == "__main__":
    main()
