"""Write plan.csv: every case of a run, with its settings resolved."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from typing import Any

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import one_sentence
from workflow_src.plan.suites import expand


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV, with the keys of any; None, and what a row lacks, is empty."""
    text, keys = StringIO(), dict.fromkeys(key for row in rows for key in row)
    writer = csv.DictWriter(text, list(keys), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@one_sentence()
def main() -> None:
    """Write the plan of resolved settings."""
    given = stage_arguments(__doc__, settings=json.loads, output=new_file)
    plan = expand(given.settings)
    write_text(given.output, as_csv(plan.rows()))
    print(f"{len(plan.cases)} cases on {plan.device} under {plan.profiler}")


if __name__ == "__main__":
    main()
