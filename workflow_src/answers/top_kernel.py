"""(b) Which kernel takes the most time: in forward, in backward, and in both together?"""

from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, components, evidence, kernel_words, layouts
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State, row_numbers
from workflow_src.answers.shares import by_kernel
from workflow_src.answers.top_summary import (
    LIKENESS_WORDS,
    PARTS,
    compare,
    factored,
    in_layers,
    summarize,
)
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column

TITLE = "Which {kernel} takes the most cumulative time, and how often is it called?"

KERNEL_KINDS = ("kernel", "operator")

UNITS = {
    "name": "",
    "short_name": "",
    "family": "",
    "what": "",
    "calls_per_step": "calls",
    "busy_ms_per_step": "ms",
    "share": "1",
}
"""The values of a top kernel that are facts, and their units."""


def part_of(kernels: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of kernels.csv that belong to a part.

    "backward" is what was launched inside a range named backward of phase forward_backward, on
    any thread.
    """
    mine = kernels[kernels["phase"] == PARTS[part]]
    if part != "backward":
        return mine
    return mine[in_backward(mine["path"])]


def in_backward(paths: "pd.Series[str]") -> "pd.Series[bool]":
    """Which paths lie in a range named backward."""
    return paths.map(lambda path: "backward" in str(path).split("/")).astype(bool)


def measure(case: Row, part: str, kernels: pd.DataFrame, state: State) -> Row:
    """The kernel with the most time in one part of one case, ignoring memory copies and sets.

    Of kernels with the same time it is the first by name. `places` are the components in which
    it runs, most of its time first.
    """
    row = case | {"part": part, "state": state.word, "reason": state.reason}
    if state.word != "ok":
        return row
    mine = evidence.of(part_of(kernels, part), case["case"])
    top = next((kernel for kernel in by_kernel(mine) if kernel["kind"] in KERNEL_KINDS), None)
    if not top:
        return row | {"state": "not_measured"}
    found = row | top
    found["what"] = kernel_words.what(top["name"], top["short_name"], top["family"])
    found["layout"] = kernel_words.layout(top["name"]) if top["family"] == "gemm" else ""
    found["places"] = places_of(mine[mine["name"] == top["name"]])
    found["ms_of_part"] = float(mine["busy_ns"].sum() / mine["steps"].max() / 1e6)
    if part == "backward":
        found |= seen_from_backward(evidence.of(kernels, case["case"], "forward_backward"), found)
    return found


def places_of(rows: pd.DataFrame) -> list[Row]:
    """The components in which one kernel runs, given its rows: calls and ms a pass in each."""
    steps = int(rows["steps"].max())
    multiplies = set(rows["family"]) == {"gemm"}
    return [
        {
            "component": name,
            "place": components.component_of(str(mine["path"].iloc[0])).place
            if multiplies
            else name,
            "calls": float(mine["calls"].sum() / steps),
            "ms": float(mine["busy_ns"].sum() / steps / 1e6),
            "evidence": row_numbers(mine),
        }
        for name, mine in components.by_component(rows).items()
    ]


def seen_from_backward(rows: pd.DataFrame, top: Row) -> Row:
    """What the forward pass of the same steps says about backward's top kernel.

    runs_in_forward: the components in which it runs there too. casts_in_forward, if the kernel
    casts to float32: how often forward casts to a narrower type.
    """
    forward = rows[~in_backward(rows["path"])]
    same = forward[forward["name"] == top["name"]]
    found: Row = {"runs_in_forward": components.in_model_order(components.by_component(same))}
    if top["what"] == kernel_words.TO_FP32:
        narrowing = forward[forward["name"].map(kernel_words.narrows).astype(bool)]
        found["casts_in_forward"] = float(narrowing["calls"].sum() / rows["steps"].max())
        found["casts_evidence"] = row_numbers(narrowing)
    return found


def facts_of(row: Row) -> list[Fact]:
    """The facts of one part of one case."""
    if "name" not in row:
        return []
    case, part = row["case"], row["part"]
    facts = [
        Fact(case, f"{part}/{name}", row[name], unit, "kernels", row["evidence"])
        for name, unit in UNITS.items()
    ]
    facts += [
        Fact(
            case, f"{part}/in {place['component']}/{key}", place[key], unit, "kernels", place["evidence"]
        )
        for place in row["places"]
        for key, unit in (("calls", "calls"), ("ms", "ms"))
    ]
    if row.get("casts_evidence"):
        casts, found = row["casts_in_forward"], row["casts_evidence"]
        facts.append(Fact(case, f"{part}/casts in forward", casts, "calls", "kernels", found))
    return facts


def pair_fact(pair: Row) -> list[Fact]:
    """Whether a part's top kernel is the forward pass's by name, and how alike they are."""
    sources = ("forward/name", f"{pair['part']}/name")
    return [
        Fact(pair["case"], f"{pair['part']}/{name}", pair[key], "", derived_from=sources)
        for name, key in (("same_as_forward", "same"), ("likeness_to_forward", "likeness"))
    ]


def answer(
    timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame, ranges: pd.DataFrame
) -> Answer:
    """Answer (b) from timings.csv, kernels.csv, captures.csv and ranges.csv."""
    cases = evidence.cases_of(timings, captures)
    rows, facts = [], []
    for case in cases:
        layers = components.layers_of(ranges, case["case"])
        known = {"layers": layers["layers"]} if layers else {}
        if layers:
            found = Fact(case["case"], "layers", layers["layers"], "", "ranges", layers["evidence"])
            facts.append(found)
        for part, phase in PARTS.items():
            state = evidence.profile_state(timings, captures, kernels, case["case"], phase)
            rows.append(measure(case | known, part, kernels, state))
    states = {(r["case"], PHASE_WORDS[r["part"]]): State(r["state"], r["reason"]) for r in rows}
    measured = {row["case"]: row for row in rows if row["part"] == "backward" and "name" in row}
    products = [layouts.measure(case, kernels) for case in cases if case["case"] in measured]
    pairs = compare(rows)
    facts += [fact for row in rows for fact in facts_of(row)]
    facts += [fact for pair in pairs for fact in pair_fact(pair)]
    facts += [fact for row in products for fact in layouts.facts_of(row)]
    title = TITLE.format(**evidence.words(cases))
    summary = summarize(rows, pairs, products)
    frames = {"tops": pd.DataFrame(rows)}
    return evidence.answered("b", title, cases, states, captures, facts, frames, summary)


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
    return row | {
        "leader": (row["share"], does, place, more),
        "where": in_layers(row["places"], row.get("layers")),
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
        **{f"matrix_{part}": markdown.matrix(mine, "leader", leader) for part, mine in parts.items()},
        "likeness": likeness_table(answer.summary["likeness"]),
        "layouts": layouts_table(answer.summary["layouts"]),
        "places": places_table(answer.summary["chosen"]),
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


def places_table(chosen: Row | None) -> Markup:
    """Where one case's top kernel runs in the forward pass, with the sum."""
    if not chosen:
        return Markup("")
    layers = chosen.get("layers")
    calls, ms = chosen["calls_per_step"], chosen["busy_ms_per_step"]
    total = [{"place": "together", "calls": calls, "ms": ms}] if chosen["places"][1:] else []
    rows = [
        row
        | {
            "share": row["ms"] / chosen["ms_of_part"],
            "layers": factored(row["calls"], layers) or markdown.DASH,
        }
        for row in [*chosen["places"], *total]
    ]
    columns = [
        Column("where", "place"),
        Column("calls per pass", "calls", markdown.calls),
        *([Column(f"of {layers} layers", "layers")] if layers else []),
        Column("ms per pass", "ms", markdown.number),
        Column("share of the pass", "share", markdown.percent),
    ]
    return markdown.markdown_table(rows, columns)


if __name__ == "__main__":
    command.main("b", answer, tables)
