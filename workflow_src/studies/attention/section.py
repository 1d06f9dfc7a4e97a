"""Study: implementations of attention over context and head size, and SDPA in a small module."""

from workflow_src.studies import section
from workflow_src.studies.attention.analyze import summarize
from workflow_src.studies.attention.bounds import judge
from workflow_src.studies.attention.figure import figure
from workflow_src.studies.attention.tables import tables

SECTION = section.Section(
    study="attention",
    title="Attention: written out, compiled and fused, over context and head size",
    summarize=summarize,
    tables=tables,
    figure=figure,
    judge=judge,
)

if __name__ == "__main__":
    section.main(SECTION)
