"""One case of answer (b) by hand: what its top kernels multiply, with calls and time."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from workflow_src.answers import kernel_products, wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.kernel_words import MATRIX_PRODUCT
from workflow_src.answers.layer_calls import factored, in_each_layer
from workflow_src.answers.wording import median_of
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column

SHOWN, MOST = 3, 5
"""Of more than MOST products of a kernel SHOWN have lines of their own."""

AS_NEAR = 0.01
"""Cases are as typical as each other if their shares are this near to the median alike."""


def own(forward: Sequence[Row]) -> Row | None:
    """A typical case to work through: of the first precision, that nearest to its median share.

    If products are known of others that are as near to a percentage point, the first of those.
    """
    first = next(iter(wording.by_precision(forward).values()), [])
    nearest = wording.nearest_to_median(first, lambda row: float(row["share"]))
    if not nearest or nearest["products"]:
        return nearest
    middle = median_of(first, "share")
    limit = abs(nearest["share"] - middle) + AS_NEAR
    near = (r for r in first if r["products"] and abs(r["share"] - middle) <= limit)
    return next(near, nearest)


def several_products(row: Row) -> bool:
    """Whether a case's top kernel runs more than one of the model's products."""
    if row["what"] != MATRIX_PRODUCT:
        return False
    return len(kernel_products.names_of(row) or row["places"]) > 1


def lines(chosen: Row, beside: Mapping[str, Row]) -> list[Row]:
    """What a case's top kernel multiplies in the forward pass, and then what backward's does.

    Where the products aren't known, only the places in which the forward pass's runs.
    """
    found = _lines(chosen, chosen["products"] or chosen["places"])
    backward = beside.get("backward")
    if chosen["products"] and backward and backward["products"]:
        found += _lines(backward, backward["products"])
    return found


def _lines(row: Row, parts: Sequence[Row]) -> list[Row]:
    """A line for each product or place of a top kernel, and one for their sum if they are some."""
    layers, whole = row.get("layers"), row["ms_of_part"]
    found: list[Row] = [
        {"place": part.get("title", part.get("place"))}
        | {key: part[key] for key in ("sizes", "calls", "ms") if key in part}
        | {"layers": in_each_layer(part, layers) or markdown.DASH, "share": part["ms"] / whole}
        for part in _most(parts)
    ]
    if len(found) > 1:
        calls, ms = row["calls_per_step"], row["busy_ms_per_step"]
        each = factored(calls, layers) or markdown.DASH
        total = {"place": "together", "sizes": "", "calls": calls, "layers": each, "ms": ms}
        found.append(total | {"share": row["share"]})
    return [{"part": row["part"]} | line for line in found]


def _most(parts: Sequence[Row]) -> list[Row]:
    """The parts that take most time, and the rest of many as one."""
    if len(parts) <= MOST:
        return list(parts)
    rest = parts[SHOWN:]
    sums = {key: sum(part[key] for part in rest) for key in ("calls", "ms")}
    return [*parts[:SHOWN], {"place": f"{len(rest)} others", "sizes": ""} | sums]


def listed(beside: Mapping[str, Row]) -> list[Row]:
    """The top kernel of both parts together, if its gradients are too many for a sentence.

    Not if it is backward's, whose gradients are among the lines.
    """
    both, backward = beside.get("forward_backward"), beside.get("backward", {})
    apart = both and both["too_many"] and both["name"] != backward.get("name")
    return [both] if both and apart else []


def table(worked: Sequence[Row], chosen: Row | None) -> Markup:
    """The lines as Markdown."""
    if not chosen:
        return Markup("")
    layers, products = chosen.get("layers"), chosen["products"]
    parts = {line["part"] for line in worked}
    columns = [
        *([Column("top of", "part", PHASE_WORDS.__getitem__)] if len(parts) > 1 else []),
        Column("product" if products else "where", "place"),
        *([Column("M x N x K", "sizes")] if products else []),
        Column("calls per pass", "calls", markdown.calls),
        *([Column(f"of {layers} layers", "layers")] if layers else []),
        Column("ms per pass", "ms", markdown.precise),
        Column("share of the pass", "share", markdown.percent),
    ]
    return markdown.markdown_table(list(worked), columns)
