"""How one case's share of matrix products changes to the training step, and by what part of it."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.kernels import captured, device_ms, multiplies, product_share
from workflow_src.answers.parts import Part
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.thresholds import SHARES_REPEAT_WITHIN
from workflow_src.paper.value import Value, computed, ratio

BEFORE, AFTER = "forward", "train_step"
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
ELSEWHERE = "elsewhere"
PARTS = (FORWARD, "loss", BACKWARD, OPTIMIZER, ELSEWHERE)
"""The parts of a step in their order: ranges right below it, and what was launched in none."""


@dataclass(frozen=True)
class Change:
    """A case's share of matrix products in the forward pass and in the training step.

    `optimizer` has its device time a step, and its share of the step's. `states` are those of the
    two phases. `by_backward` leads from the forward pass to a training step without its optimizer,
    `by_optimizer` from there to the whole step; None without ranges of these parts.
    `products_times` and `else_times`: how many times forward's time backward's takes.
    """

    case: CaseKey
    states: tuple[str, str]
    forward: Value | None
    step: Value | None
    by_backward: Value | None
    by_optimizer: Value | None
    optimizer: Part | None
    products_times: Value | None
    else_times: Value | None

    @property
    def points(self) -> Value | None:
        """How the share changes from the forward pass to the training step."""
        return difference(self.step, self.forward, "share in training step - in forward")

    @property
    def optimizers_share(self) -> Value | None:
        """The optimizer's share of the step's device time."""
        return self.optimizer.share if self.optimizer else None

    @property
    def falls(self) -> bool:
        """Whether the share falls by more than SHARES_REPEAT_WITHIN."""
        return self.points is not None and self.points.number < -SHARES_REPEAT_WITHIN

    @property
    def rises(self) -> bool:
        """Whether the share rises by more than SHARES_REPEAT_WITHIN."""
        return self.points is not None and self.points.number > SHARES_REPEAT_WITHIN

    @property
    def more_by_optimizer(self) -> bool | None:
        """Whether the optimizer lowers the share more than backward; None if it isn't known."""
        if self.by_optimizer is None or self.by_backward is None:
            return None
        return self.by_optimizer.number < self.by_backward.number


def by_part(step: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of kernels.csv of a step by part, without parts that launched nothing."""
    parts = pd.Series([part_of(str(path)) for path in step["path"]], step.index, dtype="object")
    return {name: mine for name in PARTS if len(mine := step[parts == name])}


def part_of(path: str) -> str:
    """The part of a step that a range's path lies in."""
    below = path.split("/")[1:2]
    return below[0] if below and below[0] in PARTS else ELSEWHERE


def change(tables: Tables, case: CaseKey) -> Change:
    """How one case's share changes, and by what."""
    (before, forward), (after, step) = (captured(tables, case.case, p) for p in (BEFORE, AFTER))
    groups, none = by_part(step), step.iloc[:0]
    first, back, optimizer = (groups.get(name, none) for name in (FORWARD, BACKWARD, OPTIMIZER))
    apart = len(back) and len(optimizer)
    in_forward, in_step = product_share(forward), product_share(step)
    middle = product_share(step.drop(optimizer.index)) if apart else None
    return Change(
        case,
        (before, after),
        in_forward,
        in_step,
        by_backward=difference(middle, in_forward, "share without optimizer - in forward"),
        by_optimizer=difference(in_step, middle, "share in step - without optimizer"),
        optimizer=_part(optimizer, step),
        products_times=_times(multiplies(back), multiplies(first)),
        else_times=_times(_others(back), _others(first)),
    )


def _part(optimizer: pd.DataFrame, step: pd.DataFrame) -> Part | None:
    ms = device_ms(optimizer)
    share = ratio(ms, device_ms(step), "share", "optimizer / step")
    return Part(OPTIMIZER, ms, share) if ms and share else None


def difference(after: Value | None, before: Value | None, formula: str) -> Value | None:
    """`after` - `before`, two shares; None if one is missing."""
    if after is None or before is None:
        return None
    return computed(after.number - before.number, "points", formula, after, before)


def _others(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(multiplies(rows).index)


def _times(back: pd.DataFrame, first: pd.DataFrame) -> Value | None:
    return ratio(device_ms(back), device_ms(first), "times", "backward / forward")
