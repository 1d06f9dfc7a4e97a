"""The Transformer models that studies measure."""

from workflow_src.common.case import Case
from workflow_src.studies.study import Point, Row


def dimensions(case: Case) -> Row:
    """How large a case's model is."""
    names = ("d_model", "d_ff", "layers", "heads", "vocabulary")
    return {name: getattr(case, name) for name in names}


def identity(case: Case) -> Row:
    """What tells cases of a study apart."""
    return {name: getattr(case, name) for name in ("size", "context", "batch", "precision")}


def case_of(point: Point, size: str, precision: str) -> Case:
    """The case of a size at a point. Raises KeyError for a size that isn't in it."""
    return Case(
        case=f"{size}-ctx{point['context']}-{precision}",
        size=size,
        **point["sizes"][size],
        vocabulary=point["vocabulary"],
        batch=point["batch"],
        context=point["context"],
        precision=precision,
        attention="naive",
        optimizer="adamw",
        device=point["device"],
    )
