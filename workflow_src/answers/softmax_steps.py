"""The kernels of softmax in one case: their time, and the bytes that they move."""

import re

import pandas as pd

from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers
from workflow_src.answers.moved import Known, total
from workflow_src.common.traffic import ELEMENT_BYTES, PASSES, cast_moves

HALF = frozenset(precision for precision, size in ELEMENT_BYTES.items() if size == 2)
"""Precisions that autocast provides: some operations run in float32 all the same."""

CAST, FUSED, REST = "cast to fp32", "softmax in one", "rest"
STEPS = ("maximum", "subtraction", CAST, "exponential", "sum", "division", FUSED, REST)
"""The steps of softmax in their order: its passes, the cast between them, and what else ran."""

_PATTERNS = {
    FUSED: r"(?i)softmax",
    "maximum": r"a?max",
    "subtraction": r"\b(add|r?sub)\b",
    "exponential": r"\bexp",
    "sum": r"\bsum",
    "division": r"\bdiv",
}
_CAST_BACK = r"float16_copy"

REST_WITHIN = 0.01
"""Bytes are counted only if at most this share of softmax's time belongs to no known step."""


def step_of(short_name: str, family: str, precision: str) -> str:
    """The step of softmax, one of STEPS, that a kernel in its range belongs to.

    Softmax changes no layout, so that under autocast a copy in its range is a cast.
    """
    for step, pattern in _PATTERNS.items():
        if re.search(pattern, short_name):
            return step
    return CAST if family == "copy" and precision in HALF else REST


def steps_of(case: Row, softmax: pd.DataFrame, elements: float | None, known: Known) -> list[Row]:
    """A row per step of softmax, in order, given its rows of kernels.csv.

    ms is per forward pass. With `elements`, the elements of its matrices in one pass, come
    bytes_each, the bytes moved per element, and gb, where they are known; on a GPU gb_per_s. The
    bytes are those of the shapes that ran where `known` has them, and else by formula.
    """
    names = zip(softmax["short_name"], softmax["family"], strict=True)
    step = pd.Series(
        [step_of(name, family, case["precision"]) for name, family in names],
        index=softmax.index,
        dtype="object",
    )
    widens = CAST in set(step)
    return [
        _moving(name, softmax[step == name], case, _bytes_each(name, case, widens), elements, known)
        for name in STEPS
        if (step == name).any()
    ]


def _moving(
    name: str,
    rows: pd.DataFrame,
    case: Row,
    by_formula: float | None,
    elements: float | None,
    known: Known,
) -> Row:
    """A step's time, with the bytes that it moves: by the shapes that ran, or else by formula."""
    row, ran = _time(name, rows), total(rows, known)
    if ran is None or not elements:
        return moving(row, case, by_formula, elements)
    about = {key: ran[key] for key in ("read", "dtypes")}
    return moving(row, case, ran["bytes"] / elements, elements) | about


def _time(name: str, rows: pd.DataFrame) -> Row:
    longest = rows.sort_values("busy_ns", ascending=False).iloc[0]
    return {
        "step": name,
        "kernel": str(longest["short_name"]),
        "ms": float(rows["busy_ns"].sum() / rows["steps"].max() / 1e6),
        "evidence": row_numbers(rows),
    }


def _bytes_each(step: str, case: Row, widens: bool) -> int | None:
    if step == CAST:
        return cast_moves(case["precision"])
    return PASSES[step].moves(case["precision"], widens) if step in PASSES else None


def moving(row: Row, case: Row, bytes_each: float | None, elements: float | None) -> Row:
    """`row`, which has ms, with the bytes that it moves if they are known.

    On a CPU no rate is given: its caches hold what one operator leaves to the next.
    """
    if bytes_each is None or elements is None:
        return row
    row = row | {"bytes_each": bytes_each, "gb": bytes_each * elements / 1e9}
    rated = case["device"] != "cpu" and row["ms"] > 0
    return row | ({"gb_per_s": row["gb"] / row["ms"] * 1e3} if rated else {})


def shown_steps(case: Row) -> list[Row]:
    """The steps of softmax, the whole of it, and what runs around it in one case."""
    elements = case.get("elements")
    whole = {"step": "softmax", "kernel": "", "ms": case["softmax_ms"]}
    found = [*case["steps"], moving(whole, case, case.get("bytes_each"), elements)]
    found += [case[name] for name in ("cast_back", "masks_copy") if case[name]]
    for name, key in (("QK^T", "qk"), ("AV", "av")):
        each = case[f"{key}_bytes"] / elements if elements else None
        row = {"step": name, "kernel": "", "ms": case[f"{key}_ms"]}
        found.append(moving(row, case, each, elements))
    return found


def bytes_of(steps: list[Row]) -> float | None:
    """Bytes per element that softmax moves in all steps; None unless each pass was recognized."""
    known = {row["step"]: row["bytes_each"] for row in steps if "bytes_each" in row}
    unknown = sum(row["ms"] for row in steps if "bytes_each" not in row)
    total = sum(row["ms"] for row in steps)
    complete = set(PASSES) <= set(known) and unknown <= REST_WITHIN * total
    return float(sum(known.values())) if complete else None


def cast_back(case: Row, values: pd.DataFrame, elements: float | None, known: Known) -> Row | None:
    """The cast of softmax's float32 result that the product AV begins with; None without one.

    On a CPU it can't be told from copies that change the layout.
    """
    rows = values[(values["family"] == "copy") & values["short_name"].str.contains(_CAST_BACK)]
    if case["precision"] not in HALF or rows.empty:
        return None
    return _moving("cast back", rows, case, cast_moves(case["precision"]), elements, known)


def masks_copy(case: Row, scores: pd.DataFrame, elements: float | None, known: Known) -> Row | None:
    """The copy of the scores that masking makes: what a plain copy of the same matrix takes.

    It is recognized as the one copy for each mask; None where there is none.
    """
    masks = scores.loc[scores["short_name"].str.contains("masked_fill"), "calls"].sum()
    rows = scores[scores["kind"] == "copy"]
    if rows.empty or rows["calls"].sum() != masks:
        return None
    size = ELEMENT_BYTES[case["precision"]]
    return _moving("copy of the scores", rows, case, 2 * size, elements, known)


def facts_of(case: str, rows: list[Row]) -> list[Fact]:
    """Each step's time, and its rate, which follows from the number of elements, as facts."""
    found = []
    for row in rows:
        name = f"softmax/{row['step']}"
        found.append(Fact(case, f"{name}/ms", row["ms"], "ms", "kernels", row["evidence"]))
        if "read" in row:
            found.append(
                Fact(case, f"{name}/bytes", row["gb"] * 1e9, "B", "operators", row["read"])
            )
        if "gb_per_s" in row:
            moved = f"{name}/bytes" if "read" in row else "elements"
            sources = (f"{name}/ms", moved)
            found.append(
                Fact(case, f"{name}/gb_per_s", row["gb_per_s"], "GB/s", derived_from=sources)
            )
    return found
