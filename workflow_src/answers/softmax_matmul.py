"""(e) Softmax against the two matrix multiplications of attention: time, FLOPs, bytes."""

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence, softmax_bytes, softmax_steps
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.moved import Known, known_of
from workflow_src.answers.softmax_bytes import Ceilings
from workflow_src.answers.softmax_summary import summarize
from workflow_src.answers.softmax_tables import by_hand, medians, steps_table
from workflow_src.common.traffic import PASSES
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "Softmax against the matrix multiplications of attention: time and FLOPs"
PHASE = "forward"
ATTENTION = "forward/block/attention"
MATMULS = ("scores", "values")

TIMES = ("softmax_ms", "qk_ms", "av_ms", "matmul_ms", "beside_ms")
RATIOS = {
    "time_ratio": ("softmax_ms", "matmul_ms"),
    "time_ratio_qk": ("softmax_ms", "qk_ms"),
    "time_ratio_av": ("softmax_ms", "av_ms"),
}
"""Ratios of times: what is divided by what."""

NESTED = ("steps", "cast_back", "masks_copy", "ran")
"""What a row holds besides plain values."""


def times(kernels: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of one case's forward phase by role; "matmul" is "qk" and "av" together.

    "beside" is the rest of the products' two ranges: scaling, mask, copies and casts. "core" is
    all of attention between its projections.
    """
    parts = {
        name: kernels[evidence.under(kernels["path"], f"{ATTENTION}/{name}")]
        for name in (*MATMULS, "softmax", "sdpa")
    }
    around = pd.concat([parts["scores"], parts["values"]])
    gemm = around["family"] == "gemm"
    return parts | {
        "qk": parts["scores"][parts["scores"]["family"] == "gemm"],
        "av": parts["values"][parts["values"]["family"] == "gemm"],
        "matmul": around[gemm],
        "beside": around[~gemm],
        "core": pd.concat([around, parts["softmax"], parts["sdpa"]]),
    }


def measure(
    case: Row, kernels: pd.DataFrame, work: pd.DataFrame, known: Known, state: State
) -> Row:
    """One case's times per forward pass in ms, softmax's steps, and the ratios softmax / matmul.

    `known`: the bytes of its forward pass by the shapes that ran, as far as they were recorded.
    """
    row = case | {"state": state.word, "reason": state.reason, "steps": []}
    if state.word != "ok":
        return row
    mine = evidence.of(kernels, case["case"], PHASE)
    parts, steps = times(mine), mine["steps"].max()
    ms = {
        f"{part}_ms": float(parts[part]["busy_ns"].sum() / steps / 1e6)
        for part in ("softmax", "qk", "av", "matmul", "beside", "core")
    }
    if case["attention"] == "sdpa":
        return row | {"state": "fused"} | ({"core_ms": ms["core_ms"]} if ms["core_ms"] else {})
    if not all(ms[f"{part}_ms"] > 0 for part in ("softmax", "qk", "av")):
        return row | {"state": "not_measured"}
    row |= ms | {ratio: ms[above] / ms[below] for ratio, (above, below) in RATIOS.items()}
    row |= counted(evidence.of(work, case["case"]))
    elements, ran = row.get("elements"), softmax_bytes.ran(parts, known)
    # Bytes of one case have one source.
    known = known if ran else {}
    row["steps"] = softmax_steps.steps_of(case, parts["softmax"], elements, known)
    row["cast_back"] = softmax_steps.cast_back(case, parts["values"], elements, known)
    row["masks_copy"] = softmax_steps.masks_copy(case, parts["scores"], elements, known)
    return row | compared(row, ran)


def counted(work: pd.DataFrame) -> Row:
    """What work.csv says of one case: FLOPs and bytes of softmax and of the products alone.

    A product's bytes are those of AV: QK^T reads and writes the same number of elements, but
    there work.csv counts scaling and mask as well. `elements` is the number of elements of
    softmax's matrices in one pass. Empty unless all three are counted, above zero.
    """
    by_name = work.drop_duplicates("component").set_index("component")
    if not {"softmax", *MATMULS} <= set(by_name.index):
        return {}
    flops, moved = by_name["flops"], by_name["bytes"]
    if not (flops["softmax"] > 0 and flops[list(MATMULS)].sum() > 0 and moved["values"] > 0):
        return {}
    return {
        "elements": float(flops["softmax"]) / len(PASSES),
        "matmul_flops": float(flops[list(MATMULS)].sum()),
        "counted_product_bytes": float(moved["values"]),
        "counted_softmax_bytes": float(moved["softmax"]),
        "flop_ratio": float(flops["softmax"] / flops[list(MATMULS)].sum()),
    }


def compared(row: Row, ran: Row | None) -> Row:
    """Bytes that softmax moves, against those of the products.

    They are those of the shapes that ran, `ran`, if they are known for all three. Softmax's are
    otherwise counted by the kernels that ran, with the casts of autocast, where all are known, and
    the rest is taken from work.csv.
    """
    if "elements" not in row:
        return {}
    each = softmax_steps.bytes_of(row["steps"])
    moved = row["counted_softmax_bytes"] if each is None else each * row["elements"]
    row = row | dict.fromkeys(("qk_bytes", "av_bytes"), row["counted_product_bytes"])
    row |= {"ran": ran}
    if ran:
        moved = ran["softmax"]["bytes"]
        row |= {f"{name}_bytes": ran[name]["bytes"] for name in ("qk", "av")}
    row["matmul_bytes"] = row["qk_bytes"] + row["av_bytes"]
    row["bytes_from"] = "shapes that ran" if ran else "formula"
    kept = ("ran", "bytes_from", "qk_bytes", "av_bytes", "matmul_bytes")
    return {key: row[key] for key in kept} | {
        "bytes_each": moved / row["elements"],
        "bytes_by_kernel": each is not None,
        "softmax_bytes": moved,
        "byte_ratio": moved / row["matmul_bytes"],
        "per_byte": row["time_ratio"] / (moved / row["matmul_bytes"]),
        "flops_each": row["matmul_flops"] / row["elements"],
        "matmul_bytes_each": row["matmul_bytes"] / row["elements"],
    }


def facts_of(row: Row, kernels: pd.DataFrame, work: pd.DataFrame) -> list[Fact]:
    """The facts of one measured case."""
    if "core_ms" not in row:
        return []
    case, parts = row["case"], times(evidence.of(kernels, row["case"], PHASE))
    found = [
        Fact(case, name, row[name], "ms", "kernels", evidence.row_numbers(parts[name[:-3]]))
        for name in (*TIMES, "core_ms")
        if name in row and not parts[name[:-3]].empty
    ]
    found += [
        Fact(case, ratio, row[ratio], "1", derived_from=sources)
        for ratio, sources in RATIOS.items()
        if ratio in row
    ]
    extra = [found for found in (row.get("cast_back"), row.get("masks_copy")) if found]
    return found + work_facts(row, work) + softmax_steps.facts_of(case, row["steps"] + extra)


def work_facts(row: Row, work: pd.DataFrame) -> list[Fact]:
    """What is counted of one case, as facts."""
    if "elements" not in row:
        return []
    case, mine = row["case"], evidence.of(work, row["case"])

    def rows(*components: str) -> tuple[int, ...]:
        return evidence.row_numbers(mine[mine["component"].isin(components)])

    moved = "softmax_bytes"
    softmax = (
        Fact(case, moved, row[moved], "B", derived_from=("elements",))
        if row["bytes_by_kernel"]
        else Fact(case, moved, row[moved], "B", "work", rows("softmax"))
    )
    products = [Fact(case, "matmul_bytes", row["matmul_bytes"], "B", "work", rows("values"))]
    if row["ran"]:
        softmax, *products = softmax_bytes.facts_of(row)
    both = ("softmax_bytes", "matmul_bytes")
    return [
        Fact(case, "elements", row["elements"], "", "work", rows("softmax")),
        Fact(case, "flop_ratio", row["flop_ratio"], "1", "work", rows("softmax", *MATMULS)),
        *products,
        softmax,
        Fact(case, "byte_ratio", row["byte_ratio"], "1", derived_from=both),
        Fact(case, "per_byte", row["per_byte"], "1", derived_from=("time_ratio", "byte_ratio")),
    ]


def measure_all(
    timings: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    work: pd.DataFrame,
    operators: pd.DataFrame | None = None,
) -> list[Row]:
    """Every case, measured; see `measure`."""
    ran = evidence.empty_table("operators") if operators is None else operators
    found = []
    for case in evidence.cases_of(timings, captures):
        state = evidence.profile_state(timings, captures, kernels, case["case"], PHASE)
        known = known_of(evidence.of(ran, case["case"], PHASE))
        found.append(measure(case, kernels, work, known, state))
    return found


def answer(
    timings: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    work: pd.DataFrame,
    operators: pd.DataFrame,
    ceilings: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (e) from timings.csv, kernels.csv, captures.csv and work.csv.

    operators.csv gives the bytes of shapes that ran and ceilings.csv the rates to hold them
    against; either may be empty. `example` is the case to work through; see example_case.
    """
    cases, best = evidence.cases_of(timings, captures), Ceilings.of(ceilings)
    rows = [
        row | best.held(row) for row in measure_all(timings, kernels, captures, work, operators)
    ]
    uncounted = [row["case"] for row in rows if row["state"] == "ok" and "elements" not in row]
    states = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    states |= {(case, "FLOPs and bytes"): State("not_measured") for case in uncounted}
    facts = [fact for row in rows for fact in (*facts_of(row, kernels, work), *best.facts_of(row))]
    summary = summarize(rows, example, best.bandwidth.best if best.bandwidth else None)
    summary |= {"ceilings": best.summarize(summary["timed"])}
    frames = {
        "ratios": pd.DataFrame([{k: v for k, v in row.items() if k not in NESTED} for row in rows]),
        "steps": pd.DataFrame(
            [case | step for case, row in zip(cases, rows, strict=True) for step in all_steps(row)]
        ),
    }
    return evidence.answered("e", TITLE, cases, states, captures, facts, frames, summary)


def all_steps(row: Row) -> list[Row]:
    """Softmax's steps, and after them the cast back that precedes AV."""
    return [*row["steps"], *([row["cast_back"]] if row.get("cast_back") else [])]


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = markdown.records(answer.rows["ratios"])
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("softmax ms", "softmax_ms", markdown.number),
        Column("QK^T ms", "qk_ms", markdown.number),
        Column("AV ms", "av_ms", markdown.number),
        Column("scaling, mask, copies ms", "beside_ms", markdown.number),
        Column("softmax / QK^T", "time_ratio_qk", markdown.number),
        Column("softmax / AV", "time_ratio_av", markdown.number),
        Column("softmax / both", "time_ratio", markdown.number),
        Column("FLOPs, softmax / both", "flop_ratio", markdown.number),
        Column("bytes, softmax / both", "byte_ratio", markdown.number),
    ]
    if answer.summary["ceilings"]["ran"]:
        columns.append(Column("bytes from", "bytes_from"))
    if answer.summary["ceilings"]["explained"]:
        columns.append(Column("bytes at the ceiling / time", "bytes_explain", markdown.percent))
    return {
        "ratios": markdown.markdown_table(rows, columns),
        "matrix": markdown.matrix(rows, "time_ratio", markdown.number),
        "medians": medians(answer.summary["precisions"]),
        "by_hand": by_hand(answer.summary["beside"]),
        "steps": steps_table(markdown.records(answer.rows["steps"])),
    }


if __name__ == "__main__":
    command.main("e", answer, tables)
