"""Study: how a plain MLP's time grows with its sizes, and where it stops being launch-bound.

One step is zero_grad, forward, mean squared error, backward and SGD, on a fixed batch.
"""

from workflow_src.studies import section
from workflow_src.studies.mlp.analyze import summarize
from workflow_src.studies.mlp.figure import figure
from workflow_src.studies.mlp.tables import tables

SECTION = section.Section(
    study="mlp",
    title="MLP scaling: the time expected by formula and the time measured",
    summarize=summarize,
    tables=tables,
    figure=figure,
)

if __name__ == "__main__":
    section.main(SECTION)
