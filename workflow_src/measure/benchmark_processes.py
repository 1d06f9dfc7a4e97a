"""Benchmark one case in several fresh processes, one after another: see measure/benchmark.py.

Apart from what measures, because importing torch takes as long here as in each of the processes.
"""

from workflow_src.common.arguments import Parser, add_plan_row, new_file
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import one_sentence
from workflow_src.measure.processes import in_fresh_processes, merged


@one_sentence()
def main() -> None:
    """Benchmark one plan row in as many processes as it says."""
    parser = Parser(description=__doc__)
    add_plan_row(parser)
    parser.add_argument("--output", type=new_file, required=True, help="JSON of raw samples")
    given = parser.parse_args()
    count = given.case["processes"]
    results = in_fresh_processes("workflow_src.measure.benchmark", given.case, count)
    write_json(given.output, merged(results))


if __name__ == "__main__":
    main()
