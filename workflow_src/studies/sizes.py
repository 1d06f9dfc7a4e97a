"""The named model sizes that the studies measure, and the case of one of them."""

from workflow_src.common.case import Case

_WIDTHS = {
    "tiny": (128, 512, 2, 4),
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "large": (1280, 5120, 36, 20),
    "xl": (1600, 6400, 48, 25),
    "2.7B": (2560, 10240, 32, 32),
}
_NAMES = ("d_model", "d_ff", "layers", "heads")

SIZES = {size: dict(zip(_NAMES, widths, strict=True)) for size, widths in _WIDTHS.items()}
"""d_model, d_ff, layers and heads by name: the same numbers as config.yaml's."""

VOCABULARY = 10_000


def sized_case(size: str, device: str, context: int, batch: int, precision: str = "fp32") -> Case:
    """The case of a named size, with written-out attention. Raises KeyError for other names."""
    return Case(
        case=f"{size}-ctx{context}-{precision}",
        size=size,
        **SIZES[size],
        vocabulary=VOCABULARY,
        batch=batch,
        context=context,
        precision=precision,
        attention="naive",
        optimizer="adamw",
        device=device,
    )
