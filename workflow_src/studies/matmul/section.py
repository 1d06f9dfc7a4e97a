"""Study: the rate of square matrix products over size, and the cost of tile edges."""

from workflow_src.studies import section
from workflow_src.studies.matmul.analyze import summarize
from workflow_src.studies.matmul.figure import figure
from workflow_src.studies.matmul.tables import tables

SECTION = section.Section(
    study="matmul",
    title="Matrix multiplication: rate over size, and the edges of tiles",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
