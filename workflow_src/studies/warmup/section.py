"""Study: what the first steps of a fresh process cost, and how many to exclude from averages.

One point is one process, so that each run of forward passes starts cold. forward_backward runs
second in that process and reuses what forward has set up.
"""

from workflow_src.studies import section
from workflow_src.studies.warmup.analyze import summarize
from workflow_src.studies.warmup.figure import figure
from workflow_src.studies.warmup.tables import tables

SECTION = section.Section(
    study="warmup",
    title="Warm-up: what the first steps of a process cost",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
