"""A plain step that remedies are applied to, one after another."""

from dataclasses import dataclass, field

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.edit import Edit, Plan, merged
from workflow_src.diagnosis.remedies.phase import About
from workflow_src.diagnosis.remedies.span import Ends, Span
from workflow_src.diagnosis.remedies.steps import Launched


class NotKnownError(Exception):
    """A remedy's effect can't be told of a case; the message says why."""


@dataclass
class Trial:
    """A step that remedies are applied to, one after another.

    about: the case; plan: the step so far; ends: at which end of its span each uncertain quantity
    is; precision, optimizer: the present ones; extra_launches: of launches that stand for more than
    one; asked: the quantities that were asked for.
    """

    about: About
    plan: Plan
    ends: Ends
    precision: str
    optimizer: str
    extra_launches: float = 0.0
    fused_attention: bool = False
    asked: set[str] = field(default_factory=set)

    @property
    def step(self) -> Launched:
        """The plain step."""
        return self.about.step

    def change(self, *edits: Edit) -> None:
        """Apply edits to what is left."""
        for edit in edits:
            edit.apply(self.plan)

    def end(self, name: str) -> int:
        """At which end an uncertain quantity is."""
        self.asked.add(name)
        return self.ends.get(name, 0)

    def value(self, name: str, span: Span) -> float:
        """An uncertain quantity at its present end."""
        return span.at(self.end(name))

    def merge(self, calls: Indices, groups: int, each_ns: float, price: float = 1.0) -> None:
        """Launches become so many, evenly, each of which takes so long and costs `price` ones."""
        groups = max(1, min(groups, len(calls)))
        group = np.arange(len(calls)) * groups // len(calls)
        duration = np.full(groups, round(each_ns), dtype=np.int64)
        first = calls[np.searchsorted(group, np.arange(groups))]
        self.change(
            *merged(self.plan.recording, calls, group, duration), Edit(first, gap_factor=price)
        )
