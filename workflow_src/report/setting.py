"""What was measured: the sizes of the models, and the axes and steps of the run."""

import re
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.common.case import Case
from workflow_src.model.flops import parameter_count
from workflow_src.render.markdown import Column, markdown_table, number, plain, records

SIZE = ("d_model", "d_ff", "layers", "heads")

AXES = ("context", "precision", "batch", "vocabulary", "attention", "optimizer")
"""The columns of a plan whose values the report names."""

VALUE_WORDS = {
    "naive": "written out",
    "fused_softmax": "with torch's softmax",
    "triton_softmax": "with this project's Triton softmax",
    "sdpa": "torch's fused (sdpa)",
    "adamw": "AdamW written out",
    "foreach": "torch's foreach AdamW",
    "fused": "torch's fused AdamW",
}

NAME_TELLS = re.compile(r"^(\d+(?:\.\d+)?)([MB])$")
MISNAMED = 0.1
"""A name such as 2.7B is explained if the number of parameters differs by more than this share."""

STEPS = ("warmup_steps", "steps", "capture_steps")


def steps(plan: pd.DataFrame) -> dict[str, str]:
    """The plan's numbers of steps as text: one number, or the smallest to the largest."""
    counted = {}
    for name in STEPS:
        numbers = pd.to_numeric(plan[name])
        low, high = int(numbers.min()), int(numbers.max())
        counted[name] = str(low) if low == high else f"{low} to {high}"
    return counted


def axes(plan: pd.DataFrame) -> list[str]:
    """Each axis with its values, in the plan's order: "context 128, 256"."""
    there = [name for name in AXES if name in plan.columns]
    return [f"{name} {', '.join(map(_in_words, plan[name].unique()))}" for name in there]


def _in_words(value: object) -> str:
    return VALUE_WORDS.get(str(value), str(value))


def sizes(plan: pd.DataFrame) -> Markup:
    """A row per size, with its number of parameters; empty if the plan doesn't tell them."""
    if not set(SIZE) <= set(plan.columns):
        return Markup("")
    columns = [
        Column("size", "size"),
        *(Column(name, name, plain) for name in SIZE),
        Column("parameters (millions)", "millions", number),
    ]
    return markdown_table(_counted(plan), columns)


def _counted(plan: pd.DataFrame) -> list[dict[str, Any]]:
    rows = records(plan.drop_duplicates("size"))
    return [row | {"millions": parameter_count(Case.from_dict(row)) / 1e6} for row in rows]


def misnamed(plan: pd.DataFrame) -> list[str]:
    """Sizes named after a number of parameters that differs from theirs, such as 2.7B."""
    if not set(SIZE) <= set(plan.columns):
        return []
    return [row["size"] for row in _counted(plan) if not _fits(row["size"], row["millions"])]


def _fits(name: str, millions: float) -> bool:
    told = NAME_TELLS.match(name)
    if not told:
        return True
    stated = float(told[1]) * {"M": 1, "B": 1000}[told[2]]
    return abs(millions / stated - 1) <= MISNAMED
