"""The tables of answer (b) as Markdown."""

from typing import Any

from markupsafe import Markup

from workflow_src.answers import evidence, kernel_products, kernel_words
from workflow_src.answers.answer import Answer
from workflow_src.answers.evidence import Row
from workflow_src.answers.top_summary import (
    LIKENESS_WORDS,
    PARTS,
    factored,
    in_each_layer,
    in_layers,
)
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column


def leader(value: tuple[float, str, str, int]) -> str:
    """A share, what the kernel does, and where: "42 % matrix product, feed-forward + 2"."""
    share, does, place, more = value
    where = f", {place}{f' + {more}' if more else ''}"
    return f"{100 * share:.0f} % {does}{where}"


def _shown(row: Row) -> Row:
    if not isinstance(row.get("places"), list):
        return row
    first = row["places"][0]
    more = len(row["places"]) - 1
    does = row["what"].replace(kernel_words.MATRIX_PRODUCT, "product")
    if row["part"] == "backward" or first["component"] == "backward":
        place = row["layout"] or "backward"
    else:
        place = first["place"]
    layers = row.get("layers")
    return row | {
        "leader": (row["share"], does, place, more),
        "where": product_list(row["products"]) or in_layers(row["places"], layers),
    }


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = [_shown(row) for row in markdown.records(answer.rows["tops"])]
    terms = answer.summary["words"]
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("part", "part", PHASE_WORDS.__getitem__),
        Column(f"{terms['kernel']} with the most time", "short_name"),
        Column("what it does", "what"),
        Column("calls per pass", "calls_per_step", markdown.calls),
        Column("where", "where"),
        Column("ms per pass", "busy_ms_per_step", markdown.number),
        Column(f"share of the part's {terms['device_time']}", "share", markdown.percent),
    ]
    parts: dict[str, list[Row]] = {part: [r for r in rows if r["part"] == part] for part in PARTS}
    return {
        "tops": markdown.markdown_table(rows, columns),
        **{
            f"matrix_{part}": markdown.matrix(mine, "leader", leader)
            for part, mine in parts.items()
        },
        "likeness": likeness_table(answer.summary["likeness"]),
        "layouts": layouts_table(answer.summary["layouts"]),
        "places": places_table(answer.summary["chosen"]),
        "gradients": gradients_table(list(answer.summary["beside"].values())),
    }


def likeness_table(rows: list[dict[str, Any]]) -> Markup:
    """In how many cases the other parts' top kernel is the forward pass's, or another."""
    columns = [
        Column("precision", "precision"),
        Column("top of", "part", PHASE_WORDS.__getitem__),
        Column("cases", "cases", markdown.whole),
        *(
            Column(words, key, markdown.whole)
            for key, words in LIKENESS_WORDS.items()
            if any(row[key] for row in rows)
        ),
    ]
    return markdown.markdown_table(rows, columns)


def layouts_table(rows: list[dict[str, Any]]) -> Markup:
    """The shares of layouts in forward and in backward, and what backward takes of forward."""
    columns = [
        Column("precision", "precision"),
        Column("forward: tn (x W^T)", "forward_tn", markdown.percent),
        Column("nn", "forward_nn", markdown.percent),
        Column("backward: nn (dy W)", "backward_nn", markdown.percent),
        Column("nt (dy^T x)", "backward_nt", markdown.percent),
        Column("tn", "backward_tn", markdown.percent),
        Column("backward's time / forward's", "times", markdown.number),
    ]
    return markdown.markdown_table(rows, columns)


def product_list(products: list[Row]) -> str:
    """Products with their calls and sizes: "24 feed-forward gate and up (512 x 3072 x 768)"."""
    said: dict[str, list[str]] = {}
    for each in products:
        text = f"{markdown.calls(each['calls'])} {each['label']} ({each['sizes']})"
        said.setdefault(each["direction"], []).append(text)
    return "; ".join(
        (f"{direction}s: " if direction != kernel_products.FORWARD else "") + " + ".join(texts)
        for direction, texts in said.items()
    )


def gradients_table(parts: list[Row]) -> Markup:
    """The gradients of those parts of one case that have too many for a sentence."""
    listed: dict[str, Row] = {}
    for row in parts:
        if row["too_many"]:
            listed.setdefault(row["name"], row)
    rows = [
        product | {"part": row["part"]}
        for row in listed.values()
        for each in row["gradients"]
        for product in each["products"]
    ]
    columns = [
        *([Column("top of", "part", PHASE_WORDS.__getitem__)] if len(listed) > 1 else []),
        Column("gradient", "direction"),
        Column("of", "label"),
        Column("M x N x K", "sizes"),
        Column("calls per pass", "calls", markdown.calls),
        Column("ms per pass", "ms", markdown.precise),
    ]
    return markdown.markdown_table(rows, columns)


def places_table(chosen: Row | None) -> Markup:
    """What one case's top kernel multiplies in the forward pass, or else where, with the sum."""
    if not chosen:
        return Markup("")
    layers, products = chosen.get("layers"), chosen["products"]
    calls, ms = chosen["calls_per_step"], chosen["busy_ms_per_step"]
    rows = [
        {"place": part.get("label")}
        | part
        | {"layers": in_each_layer(part, layers) or markdown.DASH}
        for part in products or chosen["places"]
    ]
    if rows[1:]:
        each = factored(calls, layers) or markdown.DASH
        whole = {"calls": calls, "ms": ms, "layers": each, "share": chosen["share"], "sizes": ""}
        rows.append({"place": "together"} | whole)
    columns = [
        Column("product" if products else "where", "place"),
        *([Column("M x N x K", "sizes")] if products else []),
        Column("calls per pass", "calls", markdown.calls),
        *([Column(f"of {layers} layers", "layers")] if layers else []),
        Column("ms per pass", "ms", markdown.precise),
        Column("share of the pass", "share", markdown.percent),
    ]
    return markdown.markdown_table(rows, columns)
