"""The axes: properties in which the cases of a suite differ, each declared here alone.

The keys of a suite, their checks, the ids of cases, the columns of all tables, the filters of the
page and what is compared follow from this and from the fields of `CaseKey`.
"""

from dataclasses import dataclass
from typing import Any

from workflow_src.common.case import ATTENTIONS, CASE_COLUMNS, EXECUTIONS, OPTIMIZERS, PRECISIONS
from workflow_src.common.schema import Schema, choice

LENGTH: Schema = {"type": "integer", "minimum": 1, "maximum": 2**24}


@dataclass(frozen=True)
class Axis:
    """A field of each case.

    value: the schema of one value; usual: of a suite that doesn't list it, None where it has to;
    mark: what an id has, with {} for the value; always: whether also for the usual value.
    """

    name: str
    value: Schema
    usual: Any
    mark: str = "{}"
    always: bool = False

    @property
    def plural(self) -> str:
        """The key of a suite that lists the values."""
        return self.name + ("es" if self.name.endswith("h") else "s")

    @property
    def listed(self) -> Schema:
        """The schema of that key, without a description."""
        values: Schema = {"type": "array", "minItems": 1, "uniqueItems": True, "items": self.value}
        return values if self.usual is None else values | {"default": [self.usual]}

    def marked(self, value: Any) -> str:
        """What the id of a case with this value has; "" for nothing."""
        return self.mark.format(value) if self.always or value != self.usual else ""


AXES = (
    Axis("context", LENGTH, None, "ctx{}", always=True),
    Axis("precision", choice(PRECISIONS), "fp32", always=True),
    Axis("batch", LENGTH, 4, "b{}"),
    Axis("attention", choice(ATTENTIONS), "naive"),
    Axis("optimizer", choice(OPTIMIZERS), "adamw"),
    Axis("execution", choice(EXECUTIONS), "eager"),
)
"""In the order in which ids and the report's opening have them."""

BY_NAME = {axis.name: axis for axis in AXES}

NAMES = ("size", *BY_NAME)
"""All that tells cases apart that a reader chooses by."""

MAIN = ("size", *(axis.name for axis in AXES if axis.always))
"""Those that every table and filter has; the others only where they vary."""

VARIED = tuple(name for name in CASE_COLUMNS if name in BY_NAME)
"""In the order in which the cases of a suite vary, the last one fastest; that of the columns."""

VALUES: Schema = {axis.name: axis.value for axis in AXES}
"""The schema of one value, by axis."""
