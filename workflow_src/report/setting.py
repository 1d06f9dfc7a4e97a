"""What was measured: the sizes of the models, and the axes and steps of the run."""

import pandas as pd
from markupsafe import Markup

from workflow_src.common.case import Case
from workflow_src.model.flops import parameter_count
from workflow_src.render.markdown import Column, markdown_table, plain, records, whole

SIZE = ("d_model", "d_ff", "layers", "heads")

WORDS = {
    "context": "context",
    "precision": "precision",
    "batch": "batch",
    "attention": "attention",
    "optimizer": "optimizer",
    "vocabulary": "vocabulary",
}
"""The columns of a plan whose values the report names, with what they are called."""

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
    there = [name for name in WORDS if name in plan.columns]
    return [f"{WORDS[name]} {', '.join(map(str, plan[name].unique()))}" for name in there]


def sizes(plan: pd.DataFrame) -> Markup:
    """A row per size, with its number of parameters; empty if the plan doesn't tell them."""
    if not set(SIZE) <= set(plan.columns):
        return Markup("")
    rows = records(plan.drop_duplicates("size"))
    for row in rows:
        row["millions"] = parameter_count(Case.from_dict(row)) / 1e6
    columns = [
        Column("size", "size"),
        *(Column(name, name, plain) for name in SIZE),
        Column("parameters (millions)", "millions", whole),
    ]
    return markdown_table(rows, columns)
