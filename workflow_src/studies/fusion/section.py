"""Study: what it is worth to run many small operations as one kernel.

GeLU and softmax move each element once in and once out of memory if they are one kernel, and many
times if each operation is one. How near an implementation comes to the least time is its share of
the bandwidth of a plain copy of the same bytes, measured in the same process.
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
