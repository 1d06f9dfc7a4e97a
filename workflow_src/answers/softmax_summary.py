"""What the text of answer (e) says over several cases, precision by precision."""

from collections.abc import Sequence

from workflow_src.answers import example_case, wording
from workflow_src.answers.evidence import Row, over_contexts
from workflow_src.answers.softmax_changes import SAME_WITHIN, changes, median
from workflow_src.answers.softmax_steps import HALF, REST, shown_steps
from workflow_src.answers.wording import median_of
from workflow_src.common.case import ATTENTIONS, NEEDS_CUDA
from workflow_src.common.ceilings import over_ceiling
from workflow_src.common.traffic import PASSES

COMPARED = tuple(name for name in ATTENTIONS if name != NEEDS_CUDA["attention"])
"""The attentions to compare with softmax written out, which run everywhere."""

STEADY_WITHIN = 0.10
"""A ratio that changes by at most this share over contexts counts as steady."""

OWN = "where softmax takes longest"

PACE = 0.90
"""A kernel at this share of a plain copy's rate or above keeps the pace of a copy."""


def summarize(
    rows: Sequence[Row], example: Row | None = None, gb_per_s: float | None = None
) -> Row:
    """Values for the template, from the rows that `softmax_matmul.measure` gives.

    `example` is the case to work through, unless one of its kernels is faster than memory's best
    rate, `gb_per_s`, by which a cache must have supplied part of its bytes.
    """
    named = wording.named(rows)
    timed = [row for row in named if "time_ratio" in row]
    written_out = [row for row in timed if row["attention"] == "naive"]
    mine = written_out or timed
    attentions = {row["attention"] for row in named}
    precisions = wording.by_precision(mine)
    found = changes(mine)
    shown = example_case.beside(mine, example)
    cached = any(faster(row, gb_per_s) for row in shown)
    chosen = longest(mine) if cached or not shown else shown[0]
    return {
        "timed": mine,
        "precisions": [precision_row(name, found) for name, found in precisions.items()],
        "changes": found,
        "fastest": max(found, key=lambda change: change["ratio"]) if found else None,
        "autocast": [each for each in found if each["cast_share"] and each["wide_share"]],
        "steady_within": STEADY_WITHIN,
        "trends": [each for name, found in precisions.items() if (each := trend(name, found))],
        "slowest": slowest_steps(mine),
        "chosen": chosen,
        "said": example_case.said(chosen, None if cached else example, OWN, len(mine)),
        "cached": example if cached else None,
        "beside": [
            row | {"shown_steps": shown_steps(row)}
            for row in (beside(mine, chosen) if chosen else [])
        ],
        "worked": worked(beside(mine, chosen)[-1]) if chosen else None,
        "fused": wording.listed([row for row in named if row["state"] == "fused"]),
        "replaced": replaced(named),
        "absent": [name for name in COMPARED if written_out and name not in attentions],
        "same_within": SAME_WITHIN,
        "flops_each": len(PASSES),
        "pace": PACE,
    }


def precision_row(precision: str, rows: Sequence[Row]) -> Row:
    """Medians over the cases of one precision; ratios of FLOPs and bytes if all are counted.

    flops_each: the least and the most FLOPs of the products per element, which sizes tell apart.
    """
    keys = ["time_ratio", "time_ratio_qk", "time_ratio_av"]
    if all("byte_ratio" in row for row in rows):
        keys += ["flop_ratio", "byte_ratio", "per_byte"]
    by_ratio = sorted(rows, key=lambda row: float(row["time_ratio"]))
    beside = [row["beside_ms"] / row["matmul_ms"] for row in rows]
    flops = [row["flops_each"] for row in rows if "flops_each" in row]
    return {key: median_of(rows, key) for key in keys} | {
        "flops_each": [min(flops), max(flops)] if "flop_ratio" in keys else [],
        "precision": precision,
        "cases": len(rows),
        "lowest": by_ratio[0],
        "highest": by_ratio[-1],
        "beside_share": median(beside),
    }


def trend(precision: str, rows: Sequence[Row]) -> Row | None:
    """How the ratio changes from the shortest context to the longest at one precision.

    "softmax" and "matmul" are median factors by which elements per time change: a change of the
    ratio is the quotient of the two.
    """
    runs = over_contexts(rows)
    if not runs:
        return None
    ends = [(run[0], run[-1]) for run in runs]
    factors = [end["time_ratio"] / start["time_ratio"] for start, end in ends]
    found: Row = {
        "precision": precision,
        "runs": len(runs),
        "rises": sum(factor > 1 + STEADY_WITHIN for factor in factors),
        "falls": sum(factor < 1 / (1 + STEADY_WITHIN) for factor in factors),
        "start": median_of([start for start, _ in ends], "time_ratio"),
        "end": median_of([end for _, end in ends], "time_ratio"),
        "contexts": sorted({(start["context"], end["context"]) for start, end in ends}),
        "sizes": len({start["size"] for start, _ in ends}) == len(runs),
    }
    found["steady"] = len(runs) - found["rises"] - found["falls"]
    if all("elements" in row for pair in ends for row in pair):
        for name in ("softmax", "matmul"):
            found[name] = median([_rate(end, name) / _rate(start, name) for start, end in ends])
        for name, at in (("bytes_start", 0), ("bytes_end", 1)):
            found[name] = median([pair[at]["byte_ratio"] for pair in ends])
    return found


def _rate(row: Row, name: str) -> float:
    return float(row["elements"] / row[f"{name}_ms"])


def slowest_steps(rows: Sequence[Row]) -> Row | None:
    """The step of softmax that takes longest in most cases, and in how many; None if unknown."""
    first = [max(row["steps"], key=lambda step: float(step["ms"]))["step"] for row in rows]
    named = [name for name in first if name != REST]
    if not named:
        return None
    step = max(dict.fromkeys(named), key=named.count)
    return {"step": step, "in_cases": wording.in_cases(named.count(step), len(rows))}


def longest(rows: Sequence[Row]) -> Row | None:
    """The case to work through: of the first precision the one whose softmax takes longest."""
    first = next(iter(wording.by_precision(rows).values()), [])
    return max(first, key=lambda row: float(row["softmax_ms"])) if first else None


def faster(row: Row, gb_per_s: float | None) -> bool:
    """Whether some kernel of a case's softmax exceeds a rate by more than its tolerance."""
    rates = [step["gb_per_s"] for step in row["steps"] if "gb_per_s" in step]
    return bool(gb_per_s) and any(over_ceiling(rate, gb_per_s) for rate in rates)


def beside(rows: Sequence[Row], chosen: Row) -> list[Row]:
    """The chosen case, and the same one at a half precision if there is one."""
    key = wording.all_but(chosen, "precision")
    half = [
        row for row in rows if row["precision"] in HALF and wording.all_but(row, "precision") == key
    ]
    return [chosen, *(row for row in half[:1] if row is not chosen)]


def worked(row: Row) -> Row | None:
    """Which of a case's steps run at the pace of a plain copy; None without rates.

    The reference is the copy of the scores that masking makes, or where there is none the step
    with the highest rate. `vectorized` says whether the names alone tell the steps with one
    element in, one out, at that pace from slower ones.
    """
    rated = [step for step in row["steps"] if "gb_per_s" in step]
    if not rated:
        return None
    fastest = max(rated, key=lambda step: float(step["gb_per_s"]))
    copy = row["masks_copy"]
    reference = copy if copy and "gb_per_s" in copy else fastest
    shares = [step | {"share": step["gb_per_s"] / reference["gb_per_s"]} for step in rated]
    at_pace = [step for step in shares if step["share"] >= PACE]
    slower = [step for step in shares if step["share"] < PACE]
    pointwise = [step for step in slower if "elementwise" in step["kernel"]]
    return {
        "row": row,
        "fastest": next(step for step in shares if step["step"] == fastest["step"]),
        "is_copy": reference is copy,
        "reference": reference,
        "at_pace": at_pace,
        "slower": sorted(slower, key=lambda step: float(step["share"])),
        "pointwise": pointwise,
        "vectorized": bool(pointwise)
        and fastest["kernel"].startswith("vectorized")
        and not any(step["kernel"].startswith("vectorized") for step in pointwise),
    }


def replaced(rows: Sequence[Row]) -> list[Row]:
    """Pairs of cases that differ only in attention, the first being written out.

    One pair for each other attention: the one in which the written-out one takes longest.
    """
    base = {wording.all_but(row, "attention"): row for row in rows if row["attention"] == "naive"}
    found: dict[str, Row] = {}
    for row in rows:
        before = base.get(wording.all_but(row, "attention"))
        if before is None or before is row or not ("core_ms" in row and "core_ms" in before):
            continue
        known = found.get(row["attention"])
        if known is None or before["core_ms"] > known["before"]["core_ms"]:
            found[row["attention"]] = {
                "attention": row["attention"],
                "before": before,
                "after": row,
            }
    return list(found.values())
