"""(e) Softmax against the two matrix multiplications of attention: time, FLOPs, bytes."""

import math

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "Softmax against the matrix multiplications of attention: time and FLOPs"
PHASE = "forward"
ATTENTION = "forward/block/attention"
MATMULS = ("scores", "values")
STEADY_WITHIN = math.log(1.1)
"""A ratio that changes by at most a factor of 1.1 over contexts is called steady."""


def times(kernels: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of one case's forward phase by role: "softmax", "matmul" and "beside".

    "beside" is the rest of the matmuls' two ranges: the scale and the causal mask.
    """
    softmax = kernels[evidence.under(kernels["path"], f"{ATTENTION}/softmax")]
    around = kernels[
        evidence.under(kernels["path"], f"{ATTENTION}/scores")
        | evidence.under(kernels["path"], f"{ATTENTION}/values")
    ]
    gemm = around["family"] == "gemm"
    return {"softmax": softmax, "matmul": around[gemm], "beside": around[~gemm]}


def nearer(time_ratio: float, flop_ratio: float, byte_ratio: float) -> str:
    """Which ratio the time ratio is nearer to, by logarithmic distance: "flops" or "bytes"."""
    to_flops = abs(math.log(time_ratio / flop_ratio))
    to_bytes = abs(math.log(time_ratio / byte_ratio))
    return "bytes" if to_bytes < to_flops else "flops"


def measure(case: Row, kernels: pd.DataFrame, work: pd.DataFrame, state: State) -> Row:
    """One case's times per forward pass in ms, and the ratios softmax / matmul."""
    row = case | {"state": state.word, "reason": state.reason}
    if state.word != "ok":
        return row
    if case["attention"] == "sdpa":
        return row | {"state": "fused"}
    mine = evidence.of(kernels, case["case"], PHASE)
    steps = mine["steps"].max()
    ms = {
        f"{part}_ms": float(rows["busy_ns"].sum() / steps / 1e6)
        for part, rows in times(mine).items()
    }
    if not (ms["softmax_ms"] > 0 and ms["matmul_ms"] > 0):
        return row | {"state": "not_measured"}
    row |= ms | {"time_ratio": ms["softmax_ms"] / ms["matmul_ms"]}
    counted = evidence.of(work, case["case"])
    if not {"softmax", *MATMULS} <= set(counted["component"]):
        return row
    matmuls, softmax = counted["component"].isin(MATMULS), counted["component"] == "softmax"
    for ratio, column in (("flop_ratio", "flops"), ("byte_ratio", "bytes")):
        row[ratio] = float(counted.loc[softmax, column].sum() / counted.loc[matmuls, column].sum())
    return row | {"nearer": nearer(row["time_ratio"], row["flop_ratio"], row["byte_ratio"])}


def facts_of(row: Row, kernels: pd.DataFrame, work: pd.DataFrame) -> list[Fact]:
    """The facts of one measured case."""
    if "time_ratio" not in row:
        return []
    case, parts = row["case"], times(evidence.of(kernels, row["case"], PHASE))
    facts = [
        Fact(case, f"{part}_ms", row[f"{part}_ms"], "ms", "kernels", evidence.row_numbers(rows))
        for part, rows in parts.items()
    ]
    facts.append(
        Fact(case, "time_ratio", row["time_ratio"], "1", derived_from=("softmax_ms", "matmul_ms"))
    )
    if "nearer" in row:
        mine = evidence.of(work, case)
        rows = evidence.row_numbers(mine[mine["component"].isin(["softmax", *MATMULS])])
        facts += [
            Fact(case, ratio, row[ratio], "1", "work", rows)
            for ratio in ("flop_ratio", "byte_ratio")
        ]
        sources = ("time_ratio", "flop_ratio", "byte_ratio")
        facts.append(Fact(case, "time_ratio_nearer_to", row["nearer"], "", derived_from=sources))
    return facts


def measure_all(
    timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame, work: pd.DataFrame
) -> list[Row]:
    """Every case, measured; see `measure`."""
    found = []
    for case in evidence.cases_of(timings, captures):
        state = evidence.profile_state(timings, captures, kernels, case["case"], PHASE)
        found.append(measure(case, kernels, work, state))
    return found


def answer(
    timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame, work: pd.DataFrame
) -> Answer:
    """Answer (e) from timings.csv, kernels.csv, captures.csv and work.csv."""
    cases = evidence.cases_of(timings, captures)
    rows = measure_all(timings, kernels, captures, work)
    uncounted = [row["case"] for row in rows if row["state"] == "ok" and "nearer" not in row]
    states = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    states |= {(case, "FLOPs and bytes"): State("not_measured") for case in uncounted}
    facts = [fact for row in rows for fact in facts_of(row, kernels, work)]
    summary = summarize(rows)
    return evidence.answered(
        "e", TITLE, cases, states, captures, facts, {"ratios": pd.DataFrame(rows)}, summary
    )


def summarize(rows: list[Row]) -> Row:
    """Values for the template: the ratios, which one the time ratio is nearer to, its trend."""
    timed = [row for row in rows if "time_ratio" in row]
    compared = [row for row in timed if "nearer" in row]
    return {
        "time_ratios": [row["time_ratio"] for row in timed],
        "softmax": [row["softmax_ms"] for row in timed],
        "matmul": [row["matmul_ms"] for row in timed],
        "time_compared": [row["time_ratio"] for row in compared],
        "flop_ratios": [row["flop_ratio"] for row in compared],
        "byte_ratios": [row["byte_ratio"] for row in compared],
        "nearer": {
            word: [row["case"] for row in compared if row["nearer"] == word]
            for word in ("bytes", "flops")
        },
        "fused": [row["case"] for row in rows if row["state"] == "fused"],
        "trend": logarithmic_trend(timed),
    }


def logarithmic_trend(rows: list[Row]) -> Row:
    """How the time ratio changes over contexts, as a factor; see evidence.trend."""
    found = evidence.trend(rows, lambda row: math.log(row["time_ratio"]), STEADY_WITHIN)
    ends = ("from_value", "to_value")
    return found | {end: math.exp(found[end]) for end in ends if end in found}


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's table as Markdown."""
    rows = markdown.records(answer.rows["ratios"])
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("softmax ms", "softmax_ms", markdown.number),
        Column("matmuls ms", "matmul_ms", markdown.number),
        Column("scale and mask ms", "beside_ms", markdown.number),
        Column("time ratio softmax / matmuls", "time_ratio", markdown.number),
        Column("FLOP ratio", "flop_ratio", markdown.number),
        Column("bytes ratio", "byte_ratio", markdown.number),
        Column("time ratio nearer to", "nearer", {"bytes": "bytes", "flops": "FLOPs"}.__getitem__),
    ]
    return {
        "ratios": markdown.markdown_table(rows, columns),
        "matrix": markdown.matrix(rows, "time_ratio", markdown.number),
    }


if __name__ == "__main__":
    command.main("e", answer, tables)
