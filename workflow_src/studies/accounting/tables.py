"""The tables of the accounting study."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    PHASE_WORDS,
    Column,
    markdown_table,
    number,
    percent,
    signed_percent,
)
from workflow_src.studies.accounting.analyze import components, rows_of, share_of_step
from workflow_src.studies.accounting.reading import busy_share, shown_size
from workflow_src.studies.rows import TIME_COLUMNS
from workflow_src.studies.study import Row


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of sizes and of a roofline, and of all models, phases, components and ceilings."""
    return {
        "sizes": _sizes_table(table),
        "roofs": _roofs_table(components(table)),
        "models": _models_table(rows_of(table, "model")),
        "phases": _phases_table(rows_of(table, "phase")),
        "components": _components_table(components(table)),
        "ceilings": _ceilings_table(rows_of(table, "ceiling")),
    }


def _sizes_table(table: pd.DataFrame) -> Markup:
    """A line per measured size: the rule 6ND, and each precision's MFU and busy share."""
    phases = rows_of(table, "phase")
    rules = {r["size"]: share_of_step(r, "step_rule_flops") for r in rows_of(table, "model")}
    lines: dict[str, dict[str, Any]] = {}
    for row in phases:
        start = {"size": row["size"], "rule": rules.get(row["size"])}
        line = lines.setdefault(row["size"], start)
        if row["phase"] == "train_step":
            line |= {
                f"{key}/{row['precision']}": row.get(key) for key in ("off", "mfu", "median_ms")
            }
            line[f"state/{row['precision']}"] = row["status"]
        if row["phase"] == "forward":
            line[f"busy/{row['precision']}"] = busy_share(row)
    columns = [Column("size", "size"), Column("6ND / step", "rule", percent)]
    known = {key for line in lines.values() for key, value in line.items() if value is not None}
    for precision in dict.fromkeys(row["precision"] for row in phases):
        state = f"state/{precision}"
        parts: tuple[tuple[str, str, Callable[[float], str]], ...] = (
            ("predicted memory", "off", signed_percent),
            ("step, ms", "median_ms", number),
            ("MFU", "mfu", percent),
            ("busy in forward", "busy", percent),
        )
        columns += [
            Column(
                f"{heading}, {precision}" if heading != "step, ms" else f"step in {precision}, ms",
                f"{key}/{precision}",
                text,
                state,
            )
            for heading, key, text in parts
            if f"{key}/{precision}" in known
        ]
    return markdown_table(list(lines.values()), columns)


def _roofs_table(rows: Sequence[Row]) -> Markup:
    """A line per component of the shown size: what bounds it, and how near it comes."""
    size = shown_size(rows)
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["size"] == size:
            line = lines.setdefault(row["component"], {"component": row["words"]})
            for key in ("bound", "flops_per_byte", "of_roof"):
                line[f"{key}/{row['precision']}"] = row[key]
    columns = [Column("component", "component")]
    for precision in dict.fromkeys(row["precision"] for row in rows if row["size"] == size):
        columns += [
            Column(f"{precision}: FLOP / byte", f"flops_per_byte/{precision}", number),
            Column("ceiling", f"bound/{precision}"),
            Column("reaches of it", f"of_roof/{precision}", percent),
        ]
    return markdown_table(list(lines.values()), columns)


def _models_table(rows: Sequence[Row]) -> Markup:
    """A line per size; activations depend on the precision, so each precision has a column."""
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        start = {
            "size": row["size"],
            "millions": row["parameters"] / 1e6,
            "without": row["parameters_without_embedding"] / 1e6,
            "forward": row["forward_flops"] / 1e9,
            "backward": row["backward_flops"] / 1e9,
            "rule_forward": row["forward_rule_flops"] / row["forward_flops"],
            "rule": share_of_step(row, "step_rule_flops"),
            "rule_all": share_of_step(row, "step_rule_all_flops"),
            **{name: row[name] for name in ("weights_mib", "gradients_mib", "optimizer_mib")},
        }
        lines.setdefault(row["size"], start)[row["precision"]] = row["activations_mib"]
    headings = {
        "parameters, 10^6": "millions",
        "without embedding table": "without",
        "forward, GFLOP": "forward",
        "backward, GFLOP": "backward",
    }
    shares = {
        "2ND / forward": "rule_forward",
        "6ND / step": "rule",
        "6ND / step, all N": "rule_all",
    }
    memory = {
        "weights, MiB": "weights_mib",
        "gradients, MiB": "gradients_mib",
        "AdamW, MiB": "optimizer_mib",
    }
    columns = [Column("size", "size"), *(Column(h, key, number) for h, key in headings.items())]
    columns += [Column(h, key, percent) for h, key in shares.items()]
    columns += [Column(h, key, number) for h, key in memory.items()]
    for precision in dict.fromkeys(row["precision"] for row in rows):
        columns.append(Column(f"activations {precision}, MiB", precision, number))
    return markdown_table(list(lines.values()), columns)


def _phases_table(rows: Sequence[Row]) -> Markup:
    """A line per phase: memory, time, utilization."""
    shown = [row | {"phase": PHASE_WORDS[row["phase"]]} for row in rows]
    columns = [Column("size", "size"), Column("precision", "precision"), Column("phase", "phase")]
    columns += [
        Column("predicted peak, MiB", "predicted_peak_mib", number),
        Column("measured peak, MiB", "peak_mib", number),
        Column("predicted / measured - 1", "off", signed_percent),
        *TIME_COLUMNS,
        Column("MFU", "mfu", percent),
        Column("HFU", "hfu", percent),
    ]
    return markdown_table(shown, columns)


def _components_table(rows: Sequence[Row]) -> Markup:
    """A line per component of a forward pass: its rate and its roof."""
    columns = [
        Column("size", "size"),
        Column("precision", "precision"),
        Column("component", "words"),
        Column("FLOP / byte", "flops_per_byte", number),
        Column("busy, ms", "busy_ms", number),
        Column("TFLOP/s", "tflop_per_s", number),
        Column("roof, TFLOP/s", "roof", number),
        Column("share of roof", "of_roof", percent),
        Column("roof is", "bound"),
    ]
    if any(row.get("work_from") for row in rows):
        columns.append(Column("bytes by", "work_from"))
    return markdown_table(rows, columns)


def _ceilings_table(rows: Sequence[Row]) -> Markup:
    """A line per measured ceiling."""
    columns = [
        Column("precision", "precision"),
        Column("ceiling", "ceiling"),
        *TIME_COLUMNS,
    ]
    shown = []
    for row in rows:
        copied = row.get("gb_per_s")
        rate = f"{number(copied)} GB/s" if copied else None
        matmul = row.get("tflop_per_s")
        shown.append(row | {"rate": rate or (f"{number(matmul)} TFLOP/s" if matmul else None)})
    return markdown_table(shown, [*columns, Column("rate", "rate")])
