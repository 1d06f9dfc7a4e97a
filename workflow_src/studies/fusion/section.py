"""Study: the gain from fusing many small operations into one kernel.

As one kernel, GeLU and softmax read and write each element once; with a kernel per operation, many
times. How close an implementation comes to the minimum time is its share of the bandwidth of a
plain copy of the same bytes, measured in the same process.
"""

from workflow_src.studies import section
from workflow_src.studies.fusion.analyze import summarize
from workflow_src.studies.fusion.figure import figure
from workflow_src.studies.fusion.tables import tables

SECTION = section.Section(
    study="fusion",
    title="Operator fusion: GeLU and softmax, written out and as one kernel",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
