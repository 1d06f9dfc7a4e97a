"""The tables of answer (e) besides its matrix: medians, one case by hand, every kernel."""

from collections.abc import Sequence

from markupsafe import Markup

from workflow_src.answers import evidence
from workflow_src.answers.evidence import Row
from workflow_src.answers.softmax_steps import STEPS
from workflow_src.render import markdown
from workflow_src.render.markdown import Column


def by_hand(cases: Sequence[Row]) -> Markup:
    """Each step of softmax, and what runs around it: bytes per element, ms and GB/s.

    Three columns for each of `cases`, which differ only in precision.
    """
    if not cases:
        return Markup("")
    lines: dict[str, Row] = {}
    for case in cases:
        for step in case["shown_steps"]:
            line = lines.setdefault(step["step"], {"step": step["step"], "kernel": step["kernel"]})
            line |= {
                f"{case['precision']}/{key}": step[key]
                for key in ("bytes_each", "ms", "gb_per_s")
                if key in step
            }
    order = [*STEPS, "softmax", "cast back", "copy of the scores", "QK^T", "AV"]
    rows = [lines[name] | {"state": "none"} for name in order if name in lines]
    for row in rows:
        row["step"] = f"all of {row['step']}" if row["step"] == "softmax" else row["step"]
    columns = [Column("step", "step"), Column("name", "kernel")]
    for case in cases:
        precision = case["precision"]
        columns += [
            Column(f"{precision}: bytes per element", f"{precision}/bytes_each", markdown.number),
            Column("ms", f"{precision}/ms", markdown.number),
            Column("GB/s", f"{precision}/gb_per_s", markdown.number),
        ]
    used = {key for row in rows for key in row}
    return markdown.markdown_table(rows, [column for column in columns if column.source in used])


def medians(precisions: Sequence[Row]) -> Markup:
    """Median ratios of each precision, softmax over the products."""
    columns = [
        Column("softmax divided by", "precision"),
        Column("QK^T, time", "time_ratio_qk", markdown.number),
        Column("AV, time", "time_ratio_av", markdown.number),
        Column("both, time", "time_ratio", markdown.number),
        Column("both, FLOPs", "flop_ratio", markdown.number),
        Column("both, bytes", "byte_ratio", markdown.number),
        Column("time per byte, softmax's / products'", "per_byte", markdown.number),
    ]
    columns = [column for column in columns if all(column.source in row for row in precisions)]
    return markdown.markdown_table(precisions, columns)


def steps_table(rows: Sequence[Row]) -> Markup:
    """Every case's steps of softmax."""
    columns = [
        *markdown.case_columns(evidence.axes(rows) if rows else []),
        Column("step", "step"),
        Column("name", "kernel"),
        Column("ms per pass", "ms", markdown.number),
        Column("bytes per element", "bytes_each", markdown.number, "bytes_state"),
        Column("GB/s", "gb_per_s", markdown.number, "bytes_state"),
    ]
    return markdown.markdown_table([row | {"bytes_state": "none"} for row in rows], columns)
