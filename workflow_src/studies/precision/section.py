"""Study: mixed precision. What rounding loses, which dtypes are used, how much time it saves."""

from workflow_src.studies import section
from workflow_src.studies.precision.analyze import summarize
from workflow_src.studies.precision.figure import figure
from workflow_src.studies.precision.tables import tables

SECTION = section.Section(
    study="precision",
    title="Mixed precision: rounding, types and time",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
