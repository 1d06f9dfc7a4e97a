"""The case: one configuration of a model, our own or a brought one, to measure."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any, Self

from workflow_src.common.precisions import DECLARED, PRECISIONS

PHASES = ("forward", "forward_backward", "train_step")
"""The phases of a case, in increasing order of memory."""

END_OF_CAPTURE = "end_of_capture"
"""The last range of a capture; a trace without it was cut short."""

ATTENTIONS = ("naive", "fused_softmax", "triton_softmax", "sdpa")
OPTIMIZERS = ("adamw", "foreach", "fused")
OWN = "own"
"""What only the function of a brought model knows, such as its attention."""

EAGER, COMPILED = "eager", "compiled"
EXECUTIONS = (EAGER, COMPILED)

AROUND = {"precision": PRECISIONS, "execution": EXECUTIONS}
"""The axes, with values, that are set around a brought model whose function doesn't take them."""

NEEDS_CUDA = {
    "precision": tuple(name for name, each in DECLARED.items() if each.capability),
    "attention": ("triton_softmax",),
}
"""By field, the values that run on a CUDA device only."""

COUNTS = ("context", "batch")
"""Case columns of numbers."""

LATER = {"execution": EAGER}
"""The axes that tables of older runs lack, with their cases' value."""

CASE_COLUMNS = (
    *("case", "size", *COUNTS, "precision", "attention", "optimizer", "device"),
    *LATER,
)
"""What tells cases apart: the leading columns of every joined table."""


@dataclass(frozen=True)
class PlanRow:
    """A row of the plan."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and for a rule's params."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Self:
        """The case in a plan row; other keys are ignored."""
        names = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in row.items() if key in names})


@dataclass(frozen=True)
class Case(PlanRow):
    """A row of the plan of this project's own model; `case` is its id."""

    case: str
    size: str
    d_model: int
    d_ff: int
    layers: int
    heads: int
    vocabulary: int
    batch: int
    context: int
    precision: str
    attention: str
    optimizer: str
    device: str
    seed: int = 0
    memory_limit_gib: float | None = None
    execution: str = EAGER

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.heads

    @property
    def brought_code(self) -> str:
        """file.py:function of an attention of one's own; "" if it is one of ATTENTIONS."""
        return self.attention if names_code(self.attention) else ""


@dataclass(frozen=True)
class Brought(PlanRow):
    """A row of the plan whose model is made by a brought function.

    `workload` is file.py:function, relative to the project's folder, `axes` JSON of `arguments`,
    `code` a hash of what the file does. `size` names the workload and its axes that have no column;
    `context` and `batch` are 0, and `attention`, `optimizer` and `execution` OWN, where no axis has
    that name.
    """

    case: str
    size: str
    context: int
    batch: int
    precision: str
    attention: str
    optimizer: str
    device: str
    workload: str
    axes: str
    code: str
    module_depth: int
    module_fold: str
    seed: int = 0
    memory_limit_gib: float | None = None
    execution: str = OWN

    @property
    def arguments(self) -> dict[str, Any]:
        """What the function is given besides the device."""
        given: dict[str, Any] = json.loads(self.axes)
        return given

    @property
    def brought_code(self) -> str:
        """file.py:function of the model."""
        return self.workload


def names_code(value: str) -> bool:
    """Whether a value is file.py:function in place of a known name."""
    return ":" in value


def short_name(code: str) -> str:
    """file.function of path/file.py:function."""
    path, _, function = code.rpartition(":")
    return f"{PurePath(path).stem}.{function}"


AnyCase = Case | Brought


def case_of(row: dict[str, Any]) -> AnyCase:
    """The case in a plan row, of a brought model if the row names its function."""
    return Brought.from_dict(row) if "workload" in row else Case.from_dict(row)


TABLES = (
    "timings",
    "ranges",
    "kernels",
    "captures",
    "work",
    "environments",
    "ledger",
    "operators",
    "alignment",
)
"""The tables made for each case, then joined over all cases."""


@dataclass(frozen=True)
class Axis:
    """A property in which the cases of a suite differ: a field of each case.

    usual: of a suite that doesn't list it, None where it has to; mark: what an id has, with {} for
    the value; always: whether also for the usual value.
    """

    name: str
    usual: Any
    mark: str = "{}"
    always: bool = False

    @property
    def plural(self) -> str:
        """The key of a suite that lists the values."""
        return self.name + ("es" if self.name.endswith("h") else "s")

    def marked(self, value: Any) -> str:
        """What the id of a case with this value has."""
        if value == self.usual and not self.always:
            return ""
        return self.mark.format(short_name(value) if names_code(str(value)) else value)


AXES = (
    Axis("context", None, "ctx{}", always=True),
    Axis("precision", "fp32", always=True),
    Axis("batch", 4, "b{}"),
    Axis("attention", "naive"),
    Axis("optimizer", "adamw"),
    Axis("execution", "eager"),
)
"""In the order in which ids and the report's opening have them."""

BY_NAME = {axis.name: axis for axis in AXES}

VARIED = tuple(name for name in CASE_COLUMNS if name in BY_NAME)
"""In the order of columns, in which the cases of a suite vary, the last one fastest."""
