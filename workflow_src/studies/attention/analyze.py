"""Work and memory of attention by formula, beside what was measured."""

from workflow_src.common.precisions import ELEMENT_BYTES
from workflow_src.common.units import MIB
from workflow_src.studies.study import Point, Row

CHECK = "check"
FLOAT32_ERROR = 2.0**-17
"""A greater relative error of inputs in float32 says that they were multiplied in TF32. Half way,
on a logarithmic scale, between the roundoffs of the two types: 2^-24 and 2^-11."""

FLOPS = {"forward": 4.0, "backward": 10.0, "forward_backward": 14.0}
"""Per score and head dimension: two products forward; backward five, as it computes the scores
again (Dao 2023, arXiv:2307.08691, section 4.1)."""

EXPONENTIALS = {"forward": 1, "backward": 1, "forward_backward": 2}
"""Per score; backward computes the weights again."""

MATRIX_MOVES = 14
"""How often the written-out forward pass reads or writes a T x T matrix: it writes the product,
reads and writes for scaling and for the mask, makes 8 passes for softmax (common/precisions.py),
and reads the weights."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with `products_in`; those of sweep "time" also with what `by_formula` predicts."""
    errors = {_series(row): row.get("error_out") for row in rows if row["sweep"] == CHECK}
    made = []
    for row in rows:
        told = {"products_in": products(row["precision"], errors.get(_series(row)))}
        made.append(row | told | ({} if row["sweep"] == CHECK else by_formula(row)))
    return made


def _series(row: Row) -> tuple[str, str, int]:
    return row["implementation"], row["precision"], row["head_size"]


def products(precision: str, error: float | None) -> str:
    """The precision of the products of float32 by the error of the output, or "".

    Rounding an output of 16 bits hides that of products: alone it is off by 0.0016 in bf16, as
    PyTorch's math backend is, which multiplies in float32.
    """
    if error is None or precision != "fp32":
        return ""
    return "tf32" if error > FLOAT32_ERROR else precision


def by_formula(row: Row) -> Row:
    """FLOPs and exponentials of the half of the scores that the mask leaves."""
    scores, phase = row["batch"] * row["heads"] * row["context"] ** 2, row["phase"]
    needed = {
        "flops": FLOPS[phase] * row["head_size"] * scores / 2,
        "exponentials": EXPONENTIALS[phase] * scores / 2,
    }
    return needed | (written_out(row) if row["implementation"] == "naive" else {})


def written_out(row: Row) -> Row:
    """The bytes of scores that a written-out forward pass moves, and the peak of a phase (MiB).

    Forward: what autograd keeps (q, k, v; the masked scores, exponentials and weights; maximum and
    sum of each row; the mask, a byte per element), the output, and the gradient that backward will
    take. Both passes, and backward alone: q, k, v, output, its gradient and that of v; the mask;
    and 7 matrices where the division of softmax is gone back through: scores, exponentials, the
    weights' gradient, and the four that -g (e / s) / s makes.
    """
    element, context = ELEMENT_BYTES[row["precision"]], row["context"]
    rows, mask = row["batch"] * row["heads"] * context * element, context**2
    tensor, matrix = rows * row["head_size"], rows * context
    if row["phase"] == "forward":
        peak = 5 * tensor + 3 * matrix + 2 * rows + mask
        return {"matrix_bytes": MATRIX_MOVES * matrix + mask, "predicted_peak_mib": peak / MIB}
    return {"predicted_peak_mib": (6 * tensor + 7 * matrix + 2 * rows + mask) / MIB}
