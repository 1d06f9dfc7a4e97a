"""What is said of a finding: its name, its headline and its remedy, by its mechanism's key."""

import numpy as np

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import NONE
from workflow_src.diagnosis.finding import MECHANISMS, Finding

WITHOUT = "; without it a {plain}step takes {without_ms} instead of {step_ms} ms"
LIMIT = "; launched all at once, a limit, a step takes {without_ms} instead of {step_ms} ms"
"""What follows a fact where the model understands the step; the second, of what holds of a whole
program, and can only be made less."""

RECORDED = " (as recorded)"
"""Comes before where the time of a step without a profiler is known: the fact takes less in it."""


def headline(finding: Finding, step_ms: float, plain: bool = False) -> str:
    """One sentence: what is wrong, where, and the time of a step with and without it.

    plain: whether step_ms, and what is saved of it, are of a step without a profiler.
    """
    mechanism = MECHANISMS[finding.key]
    places = (finding.where, finding.also)
    where = " and ".join(f"`{path}`" for path in places if path) or "no range"
    often = "once" if finding.calls == 1 else f"{finding.calls:.0f} times"
    fact = mechanism.fact.format(
        where=where, between=_between(finding, where), times=often, steps=_steps(finding),
        calls=f"{finding.calls:.0f}", kept_ms=_ms(_kept_ms(finding)),
        host_ms=_ms(finding.host_ms), device_ms=_ms(finding.device_ms),
    )  # fmt: skip
    if finding.in_steps < finding.of_steps and "{steps}" not in mechanism.fact:
        fact += f", in {_steps(finding)}"
    if np.isnan(finding.saves_ms):
        return f"{fact}."
    told = (LIMIT if mechanism.general else WITHOUT).format(
        plain="plain " * plain, **_apart(step_ms - finding.saves_ms, step_ms)
    )
    return f"{fact}{RECORDED * plain}{told}."


def _ms(milliseconds: float) -> str:
    """Whole milliseconds from 10 on, else two digits."""
    return f"{milliseconds:.0f}" if milliseconds >= 9.95 else f"{milliseconds:#.2g}"


def _apart(without_ms: float, step_ms: float) -> dict[str, str]:
    """A step's time with and without a finding, with as many digits as tell them apart."""
    told = {"without_ms": _ms(without_ms), "step_ms": _ms(step_ms)}
    if told["without_ms"] == told["step_ms"]:
        told = {"without_ms": f"{without_ms:.1f}", "step_ms": f"{step_ms:.1f}"}
    return told


def _between(finding: Finding, where: str) -> str:
    """Between which ranges gaps of the host lie, or in which one, and whether between steps."""
    sides = finding.between
    if not sides:
        return f"in {where}"
    paths = sides.after_path, sides.before_path
    after, before = (f"`{path}`" if path else "no range" for path in paths)
    one = sides.places > 1 or after == before
    place = f"in {where}" if one else f"between {after} and {before}"
    return f"from one step to the next, {place}" if sides.next_step else place


def assumed(finding: Finding) -> str:
    """What a step without a finding is replayed with."""
    return MECHANISMS[finding.key].assumes.format(kept_ms=_ms(_kept_ms(finding)))


def _kept_ms(finding: Finding) -> float:
    """What is left of each gap of the host that a finding's edits shorten, on average."""
    gaps = [(each.calls, each.gap) for each in finding.edits if each.gap is not None]
    kept_ns = np.concatenate([NONE, *(np.broadcast_to(gap, calls.shape) for calls, gap in gaps)])
    return float(kept_ns.sum()) / max(len(kept_ns), 1) / NS_PER_MS


def _steps(finding: Finding) -> str:
    """In how many steps it occurs, as "each of 5 steps"."""
    if finding.in_steps == finding.of_steps:
        return f"each of {finding.of_steps} steps"
    which = "the first" if finding.first_only else finding.in_steps
    return f"{which} of {finding.of_steps} steps"
