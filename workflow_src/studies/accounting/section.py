"""Study: FLOPs and memory by formula, compared with measurements.

Predicted and measured peak memory, model FLOPs utilization (MFU) and a roofline: each component of
the forward pass under the two ceilings measured in the same process.
"""

from workflow_src.studies import section
from workflow_src.studies.accounting.analyze import summarize
from workflow_src.studies.accounting.figure import figure
from workflow_src.studies.accounting.tables import tables

SECTION = section.Section(
    study="accounting",
    title="Accounting: FLOPs, memory, utilization and the roofline",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
