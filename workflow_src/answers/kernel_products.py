"""Which of the model's matrix products a kernel computes: from products.csv, which may be empty."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from workflow_src.answers import evidence, wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers
from workflow_src.render.markdown import joined

FORWARD = "forward"

FEED_FORWARD = ("gate", "up", "down")
GATE_OR_UP = "gate or up"
"""One of the two, which have the same sizes, where nothing tells which."""

WORDS = {
    "qkv": "q/k/v projections",
    "scores": "QK^T",
    "values": "AV",
    "output": "attention output projection",
    **{name: f"feed-forward {name}" for name in FEED_FORWARD},
    GATE_OR_UP: "feed-forward gate or up",
    "head": "output head",
}
"""The products by their names in products.csv, in the order in which the model runs them."""

UNNAMED = "other products"
"""Where neither sizes nor a range tell which product it is, and no named one has its sizes."""

IN_A_SENTENCE = 4
"""More gradients than this are listed in a table."""

SIZES = ["direction", "m", "n", "k", "matrices"]


def measure(kernel: Row, phase: str, products: pd.DataFrame) -> list[Row]:
    """The products that a kernel computes in one part of a case, most time first.

    `kernel` is a row of top_kernel.measure, `phase` that of its part. Products of the same sizes
    and direction are one row: the kernel's calls and ms a pass, `names`, `label` and `sizes` in
    words. Empty unless they account for every call of the kernel, of which a product may take two.
    """
    mine = evidence.of(products, kernel["case"], phase)
    mine = mine[mine["short_name"] == kernel["short_name"]]
    if kernel["part"] == "backward":
        mine = mine[mine["direction"] != FORWARD]
    if mine.empty or abs(mine["kernels_per_step"].sum() - kernel["calls_per_step"]) > 1e-6:
        return []
    found = [_product(rows) for _, rows in mine.groupby(SIZES)]
    return sorted(found, key=lambda product: (-product["ms"], product["sizes"]))


def _product(rows: pd.DataFrame) -> Row:
    """The products of one size and direction as one row.

    One without a name of its own is one of those that have.
    """
    present = set(rows["product"])
    if present & set(FEED_FORWARD):
        present.discard(GATE_OR_UP)
    names = [name for name in WORDS if name in present]
    direction, said = str(rows["direction"].iloc[0]), label(names)
    m, n, k, matrices = (int(rows[name].iloc[0]) for name in SIZES[1:])
    return {
        "direction": direction,
        "names": names,
        "label": said,
        "title": said if direction == FORWARD else f"{direction} of {said}",
        "sizes": f"{m} x {n} x {k}" + (f", batch of {matrices}" if matrices > 1 else ""),
        "calls": float(rows["kernels_per_step"].sum()),
        "ms": float(rows["busy_ms_per_step"].sum()),
        "evidence": row_numbers(rows),
    }


def label(names: Sequence[str]) -> str:
    """Products in words: "QK^T", "feed-forward gate and up, output head"."""
    said: list[str] = []
    for inside, group in groupby(names, FEED_FORWARD.__contains__):
        mine = list(group)
        said += [f"feed-forward {joined(mine)}"] if inside else [WORDS[name] for name in mine]
    return ", ".join(said) or UNNAMED


def facts_of(row: Row) -> list[Fact]:
    """The facts of the products of one part of a case."""
    return [
        Fact(
            row["case"],
            f"{row['part']}/{each['title']}, {each['sizes']}/{key}",
            each[key],
            unit,
            "products",
            each["evidence"],
        )
        for each in row.get("products", [])
        for key, unit in (("sizes", ""), ("calls", "calls"), ("ms", "ms"))
    ]


def gradients(row: Row) -> list[Row]:
    """A row's products of backward by direction, that with the most time first."""
    found: dict[str, list[Row]] = {}
    for product in row.get("products", []):
        if product["direction"] != FORWARD:
            found.setdefault(product["direction"], []).append(product)
    return [{"direction": direction, "products": mine} for direction, mine in found.items()]


def too_many(row: Row) -> bool:
    """Whether a row has more gradients than a sentence can name."""
    return sum(len(each["products"]) for each in gradients(row)) > IN_A_SENTENCE


def names_of(row: Row) -> list[str]:
    """The names of the products of a row, in the model's order; one of two stands for both."""
    present = {name for product in row.get("products", []) for name in product["names"]}
    if GATE_OR_UP in present:
        present = (present - {GATE_OR_UP}) | set(FEED_FORWARD[:2])
    return [name for name in WORDS if name in present]


def against_forward(forward: Row, backward: Row) -> Row:
    """Of which products backward's top kernel computes gradients: of forward's, and of others."""
    of_forward, mine = names_of(forward), names_of(backward)
    return {
        "shared": [name for name in mine if name in of_forward],
        "others": [name for name in mine if name not in of_forward],
    }


def beside_forward(forward: Row | None, backward: Row | None) -> Row:
    """What `against_forward` finds for one case in words, "" for no products; or empty."""
    if not (forward and backward and forward["products"] and backward["products"]):
        return {}
    found = against_forward(forward, backward)
    return {key: label(names) if names else "" for key, names in found.items()}


def by_precision(rows: Sequence[Row]) -> list[Row]:
    """Per precision: which products run on the top kernels, and in how many cases each does.

    Only of cases whose products are known in forward or in backward. `overlap` counts the cases by
    whether backward's are gradients of products that run on forward's: "all", "some" or "none".
    """
    known = [row for row in rows if row.get("products") and row["part"] != "forward_backward"]
    found = []
    for precision, mine in wording.by_precision(known).items():
        forward = {row["case"]: row for row in mine if row["part"] == "forward"}
        backward = [row for row in mine if row["part"] == "backward"]
        named = [row for row in backward if row["case"] in forward and names_of(row)]
        both = [against_forward(forward[row["case"]], row) for row in named]
        found.append({
            "precision": precision,
            "forward": len(forward),
            "multiplies": Counter(
                each["label"] for row in forward.values() for each in row["products"]
            ).most_common(),
            "backward": len(backward),
            "directions": Counter(
                each["direction"] for row in backward for each in gradients(row)
            ).most_common(),
            "overlap": dict(Counter(map(_overlap, both))),
        })  # fmt: skip
    return found


def gradients_of(precisions: Sequence[Row]) -> Row | None:
    """In how many cases backward's gradients belong to products of other kernels, too; or None.

    `precisions` are the rows of by_precision.
    """
    counts: Counter[str] = sum((Counter(row["overlap"]) for row in precisions), Counter())
    if not counts:
        return None
    some = counts["some"] + counts["none"]
    return {"some": some, "in_cases": wording.in_cases(some, counts.total())}


def _overlap(pair: Row) -> str:
    return "none" if not pair["shared"] else "some" if pair["others"] else "all"
