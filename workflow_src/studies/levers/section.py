"""Study: remedies for a slow training step, predicted from the plain one, tried and scored."""

from workflow_src.studies import section
from workflow_src.studies.levers.figure import figure
from workflow_src.studies.levers.summary import summarize
from workflow_src.studies.levers.tables import tables

SECTION = section.Section(
    study="levers",
    title="What to change first: remedies predicted, tried, and scored",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
