"""What the text of answer (b) says over several cases, precision by precision."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.answers import kernel_products, kernel_words, layouts, wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.kernel_words import MATRIX_PRODUCT
from workflow_src.answers.wording import median_of
from workflow_src.render import markdown

PARTS = {
    "forward": "forward",
    "backward": "forward_backward",
    "forward_backward": "forward_backward",
}
"""The parts of a step that the question covers, and the phase whose rows each is taken from."""

REDUCED = ("bf16", "fp16")
"""Precisions in which autocast casts the inputs of matrix products."""

AS_NEAR = 0.01
"""Cases are as typical as each other if their shares are this near to the median alike."""

LIKENESS_WORDS = {
    "same": "the same by whole name",
    "transposed": "another matrix product, other layout",
    "product": "another matrix product",
    "family": "another of the same family",
    "other": "another family",
}
"""How a part's top kernel compares with that of the forward pass."""


def likeness(forward: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How a part's top kernel compares with that of the forward pass: a key of LIKENESS_WORDS."""
    if forward["name"] == other["name"]:
        return "same"
    if forward["family"] != other["family"]:
        return "other"
    if forward["what"] != MATRIX_PRODUCT:
        return "family"
    turned = forward["layout"] and other["layout"] and forward["layout"] != other["layout"]
    return "transposed" if turned else "product"


def compare(rows: Sequence[Row]) -> list[Row]:
    """Per case and other part: whether its top kernel is the forward pass's, and how alike."""
    tops: dict[str, dict[str, Row]] = {}
    for row in rows:
        tops.setdefault(row["case"], {})
        if "name" in row:
            tops[row["case"]][row["part"]] = row
    return [
        {
            "case": case,
            "precision": found[part]["precision"],
            "part": part,
            "same": found["forward"]["name"] == found[part]["name"],
            "likeness": likeness(found["forward"], found[part]),
        }
        for case, found in tops.items()
        for part in ("backward", "forward_backward")
        if "forward" in found and part in found
    ]


def _with_shares(row: Row) -> Row:
    """The row with the share of the part that each place and product has."""
    whole = row["ms_of_part"]
    return row | {
        name: [part | {"share": part["ms"] / whole} for part in row[name]]
        for name in ("places", "products")
    }


def summarize(rows: Sequence[Row], pairs: Sequence[Row], by_layout: Sequence[Row]) -> Row:
    """Values for the template, from the rows of `top_kernel.measure` and `compare`.

    `by_layout` are the rows of layouts.measure.
    """
    named = [_in_words(row) for row in wording.named(rows) if "name" in row]
    forward = [row for row in named if row["part"] == "forward"]
    chosen = example(forward)
    beside = {row["part"]: row for row in named if chosen and row["case"] == chosen["case"]}
    return {
        "forward": forward,
        "precisions": [
            precision_row(precision, mine, [p for p in pairs if p["precision"] == precision])
            for precision, mine in wording.by_precision(named).items()
        ],
        "likeness": likenesses(pairs),
        "always_same": always_same(pairs),
        "others": others(named),
        "layouts": layout_rows(by_layout),
        "products": kernel_products.by_precision(named),
        "chosen": chosen and _with_shares(chosen),
        "beside": beside,
        "against_forward": kernel_products.beside_forward(chosen, beside.get("backward")),
        "alike": {
            p["part"]: p["likeness"] for p in pairs if chosen and p["case"] == chosen["case"]
        },
        "not_whole": sorted({row["case"] for row in rows if row.get("whole") is False}),
    }


def _in_words(row: Row) -> Row:
    calls = factored(row["calls_per_step"], row.get("layers"))
    return row | {
        "does": kernel_words.with_article(row["what"]),
        "of_layers": calls,
        "gradients": kernel_products.gradients(row),
        "too_many": kernel_products.too_many(row),
    }


def precision_row(precision: str, rows: Sequence[Row], pairs: Sequence[Row]) -> Row:
    """What leads each part in the cases of one precision; `pairs` are those of `compare`."""
    backward = [pair for pair in pairs if pair["part"] == "backward"]
    return {
        "precision": precision,
        "parts": {part: lead(mine) for part in PARTS if (mine := _in_part(rows, part))},
        "compared": len(backward),
        "same": sum(pair["same"] for pair in backward),
        "transposed": sum(pair["likeness"] == "transposed" for pair in backward),
    }


def _in_part(rows: Sequence[Row], part: str) -> list[Row]:
    return [row for row in rows if row["part"] == part]


def lead(rows: Sequence[Row]) -> Row:
    """What leads one part: how often each operation does, and the leader's median share."""
    does = Counter(row["what"] for row in rows)
    products = [row for row in rows if row["what"] == MATRIX_PRODUCT]
    ordered = sorted(does, key=lambda what: (-does[what], what))
    return {
        "cases": len(rows),
        "products": len(products),
        "does": [(kernel_words.with_article(what), does[what]) for what in ordered],
        "first": kernel_words.with_article(ordered[0]),
        "first_in": wording.in_cases(does[ordered[0]], len(rows)),
        "first_multiplies": ordered[0] == MATRIX_PRODUCT,
        "most_of_it": most_of_it(products),
        "also": also(products),
        "per_layer": per_layer(rows),
        "share": median_of(rows, "share"),
        "smallest": min(rows, key=lambda row: row["share"]),
        "largest": max(rows, key=lambda row: row["share"]),
    }


def per_layer(rows: Sequence[Row]) -> list[int]:
    """How often each leader is called for each layer, where all are known; else empty.

    The one or two calls besides (of the output head) don't count.
    """
    known = [row for row in rows if row["of_layers"]]
    found = [int(row["calls_per_step"] // row["layers"]) for row in known]
    return found if len(known) == len(rows) else []


def most_of_it(products: Sequence[Row]) -> list[tuple[str, int]]:
    """The places in which leading matrix products spend most of their time, and in how many."""
    return Counter(row["places"][0]["place"] for row in products).most_common()


def also(products: Sequence[Row]) -> list[tuple[str, int]]:
    """The places in which leading matrix products run besides, and in how many cases each."""
    return Counter(p["place"] for row in products for p in row["places"][1:]).most_common()


def likenesses(pairs: Sequence[Row]) -> list[Row]:
    """The counts of each likeness, by precision and part; only likenesses that occur have keys."""
    return [
        {"precision": precision, "part": part, "cases": len(mine), "state": "ok"}
        | {key: sum(pair["likeness"] == key for pair in mine) for key in LIKENESS_WORDS}
        for precision, found in wording.by_precision(pairs).items()
        for part in ("backward", "forward_backward")
        if (mine := _in_part(found, part))
    ]


def always_same(pairs: Sequence[Row]) -> int:
    """The number of cases, if all have the same top kernel in every part; otherwise 0."""
    cases = [len(_in_part(pairs, part)) for part in ("backward", "forward_backward")]
    return cases[0] if len(set(cases)) == 1 and all(pair["same"] for pair in pairs) else 0


def in_layers(places: Sequence[Row], layers: Any) -> str:
    """The calls at each place: "24 feed-forward (2 x 12 layers) + 1 output head"."""
    return " + ".join(_at(place, layers) for place in places)


def _at(place: Row, layers: Any) -> str:
    calls = f"{markdown.calls(place['calls'])} {place['place']}"
    each = in_each_layer(place, layers)
    return f"{calls} ({each})" if each else calls


def in_each_layer(place: Row, layers: Any) -> str:
    """A place's calls as a multiple of the layers: "2 x 12 layers"; "" if they aren't one.

    Of calls in backward a few may be the output head's.
    """
    calls = place["calls"]
    if place.get("component") == "backward":
        return factored(calls, layers)
    known = layers and layers == layers and layers > 1
    return f"{int(calls // layers)} x {int(layers)} layers" if known and calls % layers == 0 else ""


def factored(calls: float, layers: Any) -> str:
    """Calls as a multiple of layers and at most two more: "3 x 12 layers + 1"; "" if they aren't.

    With few layers there would be several ways to write it.
    """
    if not layers or layers != layers or layers < 4 or calls != int(calls) or calls < layers:
        return ""
    each, more = divmod(int(calls), int(layers))
    return f"{each} x {int(layers)} layers" + (f" + {more}" if more else "") if more <= 2 else ""


def others(rows: Sequence[Row]) -> list[Row]:
    """What leads forward or backward other than matrix products, and where it runs.

    A row per part and operation, with the case in which its share is largest. `reason` is a key
    for the template, or "" where the tables don't show why.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["what"] != MATRIX_PRODUCT and row["part"] != "forward_backward":
            found.setdefault((row["part"], row["what"]), []).append(row)
    return [
        {
            "part": part,
            "does": kernel_words.with_article(what),
            "cases": len(mine),
            "example": (example := max(mine, key=lambda row: row["share"])),
            "calls": in_layers(example["places"], example.get("layers")),
            "reason": reason(mine),
            "runs_in_forward": example.get("runs_in_forward", []),
        }
        for (part, what), mine in sorted(
            found.items(), key=lambda item: (item[0][0] != "forward", -len(item[1]), item[0][1])
        )
    ]


def reason(rows: Sequence[Row]) -> str:
    """Why an operation runs, where that holds in all `rows` (of one part and operation)."""
    reduced = all(row["precision"] in REDUCED for row in rows)
    what = rows[0]["what"]
    components = [{place["component"] for place in row["places"]} for row in rows]
    if reduced and what in (kernel_words.TO_BF16, kernel_words.TO_FP16):
        return "autocast"
    if reduced and all(row.get("casts_in_forward") == row["calls_per_step"] for row in rows):
        return "casts_back"
    if what == "division" and all(found == {"softmax"} for found in components):
        return "softmax_division"
    if what == "division" and all(_thrice_a_layer(row) for row in rows):
        return "division_gradient"
    return "rotary" if all(found == {"rotary positions"} for found in components) else ""


def _thrice_a_layer(row: Row) -> bool:
    """Whether backward's divisions are three for each of softmax's, of which a layer has one.

    PyTorch's gradient of a / b is g / b for a, and -g (a / b) / b for b.
    """
    layers = row.get("layers")
    in_softmax = row.get("runs_in_forward") == ["softmax"]
    return bool(in_softmax and layers and row["calls_per_step"] == 3 * layers)


def layout_rows(products: Sequence[Row]) -> list[Row]:
    """Median shares of layouts on both sides, and backward's time over forward's, by precision.

    Only of cases whose kernels' names tell layouts.
    """
    found = []
    for precision, rows in wording.by_precision(layouts.known(products)).items():
        row: Row = {"precision": precision, "cases": len(rows)}
        for side in layouts.SIDES:
            shares = [layouts.shares(each, side) for each in rows]
            for layout in ("tn", "nn", "nt"):
                mine = [{"s": each.get(layout, 0.0)} for each in shares]
                row[f"{side}_{layout}"] = median_of(mine, "s")
        times = [{"s": layouts.total(r, "backward") / layouts.total(r, "forward")} for r in rows]
        found.append(row | {"times": median_of(times, "s")})
    return found


def example(forward: Sequence[Row]) -> Row | None:
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
