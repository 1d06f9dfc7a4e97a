"""Closed-form work and memory of causal attention on (batch, heads, T, d): what is predicted."""

from dataclasses import dataclass

from workflow_src.common.case import names_code

FLOPS = {"forward": 4.0, "backward": 10.0, "forward_backward": 14.0}
"""FLOPs per score and head dimension: two products forward; backward five, as it computes the
scores again (Dao 2023, arXiv:2307.08691, section 4.1)."""

EXPONENTIALS = {"forward": 1, "backward": 1, "forward_backward": 2}
"""Exponentials per score, where backward computes the weights again."""

BY_TILES = ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient", "flex")
"""PyTorch's implementations that keep no matrix of scores, as those of one's own should."""

WRITTEN_OUT = "naive"

MATRIX_MOVES = 14
"""How often the written-out forward pass reads or writes a T x T matrix: it writes the product,
reads and writes for scaling and for the mask, makes 8 passes for softmax (common/traffic.py), and
reads the weights."""

BLOCK_TABLES = 4 * 4
"""Bytes per pair of blocks of flex_attention's mask: whole and partly masked ones, by query and by
key, in int32."""


@dataclass(frozen=True)
class Shape:
    """A shape of attention, and the bytes of an element of q."""

    batch: int
    heads: int
    context: int
    head_size: int
    size: int

    @property
    def rows(self) -> int:
        """Rows of scores."""
        return self.batch * self.heads * self.context

    @property
    def blocks(self) -> int:
        """Blocks of 128 queries, as flex_attention's mask has them."""
        return -(-self.context // 128)

    @property
    def tensor(self) -> int:
        """Bytes of q, and of each tensor like it."""
        return self.rows * self.head_size * self.size

    @property
    def matrix(self) -> int:
        """Bytes of a matrix of scores."""
        return self.rows * self.context * self.size


def flops(shape: Shape, phase: str) -> float:
    """FLOPs of the products that are needed, of half of the scores: the mask spares the rest."""
    return FLOPS[phase] * shape.head_size * shape.rows * shape.context / 2


def exponentials(shape: Shape, phase: str) -> float:
    """Exponentials that are needed, of half of the scores."""
    return EXPONENTIALS[phase] * shape.rows * shape.context / 2


def matrix_bytes(implementation: str, phase: str, shape: Shape) -> int | None:
    """Bytes of scores that a written-out forward pass moves; None of other passes.

    With the mask, which it reads.
    """
    if (implementation, phase) != (WRITTEN_OUT, "forward"):
        return None
    return MATRIX_MOVES * shape.matrix + shape.context**2


def kept_bytes(implementation: str, shape: Shape) -> int | None:
    """Bytes that autograd keeps of a forward pass, q, k and v included; None if not known.

    Written out: the masked scores, exponentials and weights, maximum and sum of each row, and the
    mask, a byte per element. By tiles: the output, and a float32 per row.
    """
    if implementation == WRITTEN_OUT:
        rows = 2 * shape.rows * shape.size
        return 3 * shape.tensor + 3 * shape.matrix + rows + shape.context**2
    if implementation in BY_TILES or names_code(implementation):
        return 4 * shape.tensor + 4 * shape.rows
    return None


def peak_bytes(implementation: str, phase: str, shape: Shape) -> int | None:
    """Peak bytes of forward, or of both passes; None if not known.

    Forward, what is kept, the output and the gradient that backward will take. Both passes written
    out: q, k, v, output, its gradient and that of v; the mask; and 7 matrices where the division of
    softmax is gone back through: scores, exponentials, the weights' gradient, and the four that
    -g (e / s) / s makes. By tiles: q, k, v, output, the gradients of all four, two float32 per row,
    and, of 16-bit inputs, a float32 sum for the gradient of q (Dao 2023, algorithm 2), which flex
    needs none of, as it goes through the keys of each query once more; it has tables of blocks.
    """
    kept = kept_bytes(implementation, shape)
    if kept is None or phase == "backward":
        return None
    if implementation == WRITTEN_OUT:
        if phase == "forward":
            return kept + 2 * shape.tensor
        rows = 2 * shape.rows * shape.size
        return 6 * shape.tensor + 7 * shape.matrix + rows + shape.context**2
    tables = BLOCK_TABLES * shape.blocks**2 if implementation == "flex" else 0
    if phase == "forward":
        return kept + shape.tensor + tables
    summed = shape.size < 4 and implementation != "flex"
    sums = 4 * shape.rows * shape.head_size if summed else 0
    return 8 * shape.tensor + 8 * shape.rows + sums + tables
