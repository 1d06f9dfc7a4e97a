"""What casts of weights take of a forward pass: as long at any context and any batch."""

from workflow_src.answers.other_kernels.passes import PHASE, Pass
from workflow_src.answers.tables import Tables
from workflow_src.common import words
from workflow_src.common.operators import COPY
from workflow_src.paper.value import Cell, Joined, ratio, rows_of, value
from workflow_src.placing.kernel_words import changes_type


def weight_casts(tables: Tables, found: Pass) -> Cell:
    """Their device time and its share of the pass; None without any, or without operators.csv.

    A weight is a matrix, where activations have a batch and a context besides.
    """
    rows = tables.of("operators", found.case.case, PHASE)
    if found.state != "ok":
        return words.STATES[found.state]
    copies = rows[rows["operator"] == COPY]
    matrix = [str(shapes).partition(";")[0].count(" x ") == 1 for shapes in copies["shapes"]]
    casting = [changes_type(str(name)) for name in copies["short_name"]]
    mine = copies[[a and b for a, b in zip(matrix, casting, strict=True)]]
    if mine.empty or found.case.on_cpu:
        return None
    source = rows_of("operators", mine)
    ms = value(mine["busy_ms_per_step"].sum(), "ms", source, formula="sum over operators")
    return Joined((ms, ratio(ms, found.whole_ms, "share", "casts of weights / pass")), " ms, ")
