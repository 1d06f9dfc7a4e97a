"""The tables of answer (b) as Markdown."""

from typing import Any

from markupsafe import Markup

from workflow_src.answers import evidence, kernel_products, kernel_words, top_example
from workflow_src.answers.answer import Answer
from workflow_src.answers.evidence import Row
from workflow_src.answers.layer_calls import by_layer, in_layers
from workflow_src.answers.top_summary import LIKENESS_WORDS, PARTS
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column


def leader(value: tuple[float, str, str]) -> str:
    """A share, what the kernel does, how often and where.

    For example "42 % product: 25 = 12 x (feed-forward + output) + head".
    """
    share, does, calls = value
    return f"{100 * share:.0f} % {does}: {calls}"


def _calls(row: Row) -> str:
    """A kernel's calls by place; where most of its time is in backward, the layout instead.

    Where its name tells none, as an operator's never does, how many of the calls are in backward.
    """
    calls, places = row["calls_per_step"], row["places"]
    if row["part"] != "backward" and places[0]["component"] != "backward":
        return by_layer(calls, places, row.get("layers"))
    inside = sum(place["calls"] for place in places if place["component"] == "backward")
    if row["layout"] or inside == calls:
        return f"{markdown.calls(calls)} in {row['layout'] or 'backward'}"
    return f"{markdown.calls(calls)}, {markdown.calls(inside)} of them in backward"


def _shown(row: Row) -> Row:
    if not isinstance(row.get("places"), list):
        return row
    does = row["what"].replace(kernel_words.MATRIX_PRODUCT, "product")
    layers = row.get("layers")
    return row | {
        "leader": (row["share"], does, _calls(row)),
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
        "worked": top_example.table(answer.summary["worked"], answer.summary["chosen"]),
        "products": products_table(answer.summary["products"], terms["kernel"]),
        "gradients": gradients_table(answer.summary["listed"]),
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


def products_table(rows: list[Row], kernel: str) -> Markup:
    """Which products the top kernels run, and in how many cases each, a row per precision."""
    columns = [
        Column("precision", "precision"),
        Column("forward: cases", "forward", markdown.whole),
        Column(f"on its top {kernel}", "multiplies", _counted),
        Column("backward: cases", "backward", markdown.whole),
        Column(f"on its top {kernel}", "directions", _counted),
        Column(f"gradients of what forward's top {kernel} runs", "overlap", _overlap),
    ]
    return markdown.markdown_table([row | {"state": "none"} for row in rows], columns)


def _counted(found: list[tuple[str, int]]) -> str:
    """Words with their counts: "QK^T: 4; output head: 1"."""
    return "; ".join(f"{word}: {count}" for word, count in found) or markdown.DASH


def _overlap(found: dict[str, int]) -> str:
    return _counted([(word, found[word]) for word in ("all", "some", "none") if word in found])


def gradients_table(parts: list[Row]) -> Markup:
    """The gradients that some parts' top kernels compute."""
    rows = [product for row in parts for each in row["gradients"] for product in each["products"]]
    columns = [
        Column("gradient", "direction"),
        Column("of", "label"),
        Column("M x N x K", "sizes"),
        Column("calls per pass", "calls", markdown.calls),
        Column("ms per pass", "ms", markdown.precise),
    ]
    return markdown.markdown_table(rows, columns)
