"""(b) Which kernel takes the most time: in forward, in backward, and in both together?"""

import pandas as pd

from workflow_src.answers import (
    command,
    components,
    evidence,
    kernel_products,
    kernel_words,
    layouts,
)
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State, row_numbers
from workflow_src.answers.shares import by_kernel
from workflow_src.answers.top_summary import PARTS, compare, summarize
from workflow_src.answers.top_tables import tables
from workflow_src.render.markdown import PHASE_WORDS

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


def measure(
    case: Row, part: str, kernels: pd.DataFrame, products: pd.DataFrame, state: State
) -> Row:
    """The kernel with the most time in one part of one case, ignoring memory copies and sets.

    Of kernels with the same time it is the first by name. `places` are the components in which
    it runs, most of its time first; `products` what it multiplies, if products.csv knows it.
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
    found["products"] = kernel_products.measure(found, PARTS[part], products)
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
            case,
            f"{part}/in {place['component']}/{key}",
            place[key],
            unit,
            "kernels",
            place["evidence"],
        )
        for place in row["places"]
        for key, unit in (("calls", "calls"), ("ms", "ms"))
    ]
    facts += kernel_products.facts_of(row)
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
    timings: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    ranges: pd.DataFrame,
    products: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (b) from timings.csv, kernels.csv, captures.csv, ranges.csv and, if there is one,
    products.csv. `example` is the case to work through; see example_case."""
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
            rows.append(measure(case | known, part, kernels, products, state))
    states = {(r["case"], PHASE_WORDS[r["part"]]): State(r["state"], r["reason"]) for r in rows}
    measured = {row["case"]: row for row in rows if row["part"] == "backward" and "name" in row}
    by_layout = [layouts.measure(case, kernels) for case in cases if case["case"] in measured]
    pairs = compare(rows)
    facts += [fact for row in rows for fact in facts_of(row)]
    facts += [fact for pair in pairs for fact in pair_fact(pair)]
    facts += [fact for row in by_layout for fact in layouts.facts_of(row)]
    title = TITLE.format(**evidence.words(cases))
    summary = summarize(rows, pairs, by_layout, example)
    frames = {"tops": pd.DataFrame(rows)}
    return evidence.answered("b", title, cases, states, captures, facts, frames, summary)


if __name__ == "__main__":
    command.main("b", answer, tables)
