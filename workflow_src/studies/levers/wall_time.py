"""The wall time of a phase, and its interval, from the work of a variant and the plain phase.

What the plain phase takes beyond its work is taken over, so that a prediction is the measured plain
time and what the remedies change of it. An error in what they leave alone is on both sides and
cancels. What is uncertain is what they change, and the luck of the processes: of those that timed
the plain phase, and of those that the prediction is compared with.

Which errors cancel is computed, not declared: each quantity is moved to both ends of its own 95 %
interval, the time is predicted again, and the differences are added as the root of the sum of their
squares (S. J. Kline and F. A. McClintock, "Describing uncertainties in single-sample experiments",
Mechanical Engineering 75, 1953). Where a remedy takes a launch-bound phase to where the device's
work is longer, they don't cancel, and the interval is wide.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from workflow_src.studies.levers.effects import State
from workflow_src.studies.levers.known import Known
from workflow_src.studies.levers.parts import KINDS, NOTHING, Part
from workflow_src.studies.levers.spread import MEASURED, NORMAL_95
from workflow_src.studies.levers.unsure import BEYOND_UNSURE, GAP_UNSURE, LAUNCHES_UNSURE

PASSES = {
    "forward": ("forward",),
    "forward_backward": ("forward", "backward"),
    "train_step": ("forward", "backward", "optimizer"),
}
"""The passes that a phase consists of."""


class Time(NamedTuple):
    """A predicted wall time with its 95 % interval, and its two terms, in ms."""

    ms: float
    low: float
    high: float
    device_ms: float
    launch_ms: float


class Terms(NamedTuple):
    """What the wall time of a phase is predicted from, in ms, launches, and factors of 1.

    wall: the plain phase, measured; same: the device's work that stays; old, new: what is replaced,
    and by what; before, after: launches; each: the host's time for one, measured apart; gaps: time
    between the kernels of a graph; price: of launches that change; beyond: of what the plain phase
    takes beyond its work; luck: of the processes that the prediction is compared with.
    """

    wall: float
    same: float
    old: float
    new: float
    before: float
    after: float
    each: float
    gaps: float
    price: float = 1.0
    beyond: float = 1.0
    luck: float = 1.0

    @property
    def launch(self) -> float:
        """The host's time to launch once: all launches fit into the plain phase."""
        return min(self.each, self.wall / max(1.0, self.before))


def launched(at: Terms) -> float:
    """The longer of device work and launching, and what the plain phase takes beyond both."""
    each = at.price * at.launch
    launching = min(each * at.before, at.wall)
    beyond = at.wall - max(at.same + at.old, launching)
    longer = max(at.same + at.new, launching + each * (at.after - at.before))
    return at.luck * (longer + at.beyond * beyond)


def replayed(at: Terms) -> float:
    """A graph's device work with short gaps, or the launches that are left outside of it.

    Nothing of the plain phase's wall time is in it, so none of its errors cancel. Processes that
    replay graphs differ less than those that launch.
    """
    return at.luck * (max(at.same + at.new, at.price * at.launch * at.after) + at.gaps)


def interval(
    time: Callable[[Terms], float], at: Terms, unsure: Mapping[str, float]
) -> tuple[float, float]:
    """The 95 % interval of a time, from how far off each of its terms may be with 95 %."""
    ms, below, above = time(at), 0.0, 0.0
    for name, by in unsure.items():
        value = getattr(at, name)
        ends = [at._replace(**{name: max(0.0, value + side)}) for side in (-by, by)]
        off = [time(end) - ms for end in ends]
        below, above = below + min(0.0, *off) ** 2, above + max(0.0, *off) ** 2
    return ms - below**0.5, ms + above**0.5


def time_of(known: Known, plain: State, state: State, phase: str) -> Time:
    """The wall time of a phase of a variant, per as many tokens as the plain batch has."""
    same, old, new = _changed(plain, state, phase)
    device, before = same + new, (same + old).calls
    wall, gaps = known.walls[phase], _kernels(known, state, phase) * known.gap_us / 1e3
    after = launches(state, phase)
    at = Terms(wall, same.ms, old.ms, new.ms, before, after, known.us_per_call / 1e3, gaps)
    unsure = {
        "wall": wall * known.between[phase],
        "luck": NORMAL_95 * MEASURED if state.graph else known.luck[phase],
        "same": NORMAL_95 * same.sd,
        "old": NORMAL_95 * old.sd,
        "new": NORMAL_95 * new.sd,
        "gaps": NORMAL_95 * GAP_UNSURE * gaps,
        "price": NORMAL_95 * LAUNCHES_UNSURE,
        "beyond": NORMAL_95 * BEYOND_UNSURE * abs(1 - after / max(1.0, before)),
    }
    time = replayed if state.graph else launched
    low, high = interval(time, at, unsure)
    # A GPU's kernels fit into the phase. A CPU's operators, slowed by the profiler, need not.
    if same.ms + old.ms <= wall:
        low = max(low, device.ms - NORMAL_95 * device.sd)
    found = (time(at), low, high, device.ms, at.launch * after)
    return Time(*(max(0.0, value) / state.batches for value in found))


def work_of(state: State, phase: str) -> dict[str, float]:
    """The device's work (ms) in a phase by kind, per as many tokens as the plain batch has."""
    found = dict.fromkeys((*KINDS, "optimizer"), 0.0)
    for name, part in state.parts.items():
        if name.split()[0] in PASSES[phase]:
            found[name.split()[-1]] += part.ms / state.batches
    return found


def _changed(plain: State, state: State, phase: str) -> tuple[Part, Part, Part]:
    """The device's work that the remedies leave alone, what they replace, and by what."""
    same = old = new = NOTHING
    for name, part in plain.parts.items():
        if name.split()[0] in PASSES[phase]:
            if state.parts[name] is part:
                same += part
            else:
                old, new = old + part, new + state.parts[name]
    return same, old, new


def captured(state: State) -> tuple[str, ...]:
    """The passes that a graph replays: AdamW written out stays outside of it."""
    if not state.graph:
        return ()
    return ("forward", "backward") if state.optimizer == "adamw" else PASSES["train_step"]


def _kernels(known: Known, state: State, phase: str) -> float:
    """How many kernels of a phase a graph replays: the optimizer's are counted by their price."""
    return sum(
        part.calls / (known.optimizer_price if name == "optimizer" else 1.0)
        for name, part in state.parts.items()
        if name.split()[0] in PASSES[phase] and name.split()[0] in captured(state)
    )


def launches(state: State, phase: str) -> float:
    """The launches that the host has to make in a phase: a graph leaves those outside of it."""
    made = [each for each in PASSES[phase] if each not in captured(state)]
    return sum(part.calls for name, part in state.parts.items() if name.split()[0] in made)
