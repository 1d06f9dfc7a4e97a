"""What the text of answer (b) says over several cases, precision by precision."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.answers import (
    example_case,
    kernel_products,
    kernel_words,
    layouts,
    top_example,
    wording,
)
from workflow_src.answers.evidence import Row
from workflow_src.answers.kernel_words import MATRIX_PRODUCT
from workflow_src.answers.layer_calls import elsewhere, factored, in_layers
from workflow_src.answers.wording import median_of

PARTS = {
    "forward": "forward",
    "backward": "forward_backward",
    "forward_backward": "forward_backward",
}
"""The parts of a step that the question covers, and the phase whose rows each is taken from."""

REDUCED = ("bf16", "fp16")
"""Precisions in which autocast casts the inputs of matrix products."""

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


def summarize(
    rows: Sequence[Row],
    pairs: Sequence[Row],
    by_layout: Sequence[Row],
    example: Row | None = None,
) -> Row:
    """Values for the template, from the rows of `top_kernel.measure` and `compare`.

    `by_layout` are the rows of layouts.measure, `example` is the case to work through.
    """
    named = [_in_words(row) for row in wording.named(rows) if "name" in row]
    forward = [row for row in named if row["part"] == "forward"]
    chosen = example_case.pick(forward, example) or top_example.own(forward)
    beside = {row["part"]: row for row in named if chosen and row["case"] == chosen["case"]}
    return {
        "forward": forward,
        "precisions": [
            precision_row(precision, mine, [p for p in pairs if p["precision"] == precision])
            for precision, mine in wording.by_precision(named).items()
        ],
        "likeness": likenesses(pairs),
        "always_same": always_same(pairs),
        "others": others(named, example),
        "layouts": layout_rows(by_layout),
        "in_layers": any(row["of_layers"] for row in forward),
        "elsewhere": sorted(
            {elsewhere(row["places"], row.get("layers")) for row in forward} - {""}
        ),
        "products": (products := kernel_products.by_precision(named)),
        "gradients_of": kernel_products.gradients_of(products),
        "chosen": chosen,
        "several_products": bool(chosen and top_example.several_products(chosen)),
        "worked": top_example.lines(chosen, beside) if chosen else [],
        "said": example_case.said(chosen, example, "a typical case", len(forward)),
        "beside": beside,
        "listed": top_example.listed(beside),
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
        "mostly": mostly(products),
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


def mostly(products: Sequence[Row]) -> str:
    """The place in which most leading matrix products spend most of their time; "" in a tie."""
    places = Counter(row["places"][0]["place"] for row in products).most_common(2)
    tied = len(places) > 1 and places[0][1] == places[1][1]
    return "" if tied or not places else str(places[0][0])


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


def others(rows: Sequence[Row], example: Row | None = None) -> list[Row]:
    """What leads forward or backward other than matrix products, and where it runs.

    A row per part and operation, with the example at one of its precisions or else the case in
    which its share is largest. `reason` is a key for the template, or "" where the tables don't
    show why.
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
            "example": (shown := example_case.any_of(mine, example) or _largest(mine)),
            "calls": in_layers(shown["places"], shown.get("layers")),
            "reason": reason(mine),
            "runs_in_forward": shown.get("runs_in_forward", []),
        }
        for (part, what), mine in sorted(
            found.items(), key=lambda item: (item[0][0] != "forward", -len(item[1]), item[0][1])
        )
    ]


def _largest(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: float(row["share"]))


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
