"""What is said of a finding: its name, its headline and its remedy, by its mechanism's key."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import NONE
from workflow_src.diagnosis.finding import MECHANISMS, Finding, Found, Pattern

LINES = Path(__file__).with_name("mechanisms.csv")

WITHOUT = "; without it a step takes {without_ms} instead of {step_ms} ms"
"""What follows a fact, where the model understands the step."""

PLAIN_WITHOUT = " (as recorded); without it a plain step takes {without_ms} instead of {step_ms} ms"
"""The same where the time of a step without a profiler is known, in which the fact takes less."""

LIMIT = "; launched all at once, a limit, a step takes {without_ms} instead of {step_ms} ms"
PLAIN_LIMIT = f" (as recorded){LIMIT}"
"""The same of what holds of a whole program, and can only be made less."""


@dataclass(frozen=True)
class Words:
    """name: of the mechanism; fact: a format of a Finding's fields; remedy: one fixed sentence.

    assumes: what the step without it is replayed with, a format of kept_ms; evidence: which table
    shows it, and which of its rows.
    """

    name: str
    fact: str
    assumes: str
    remedy: str
    evidence: str


@cache
def words() -> dict[str, Words]:
    """The words of every mechanism by its key."""
    table = pd.read_csv(LINES, dtype=str, keep_default_na=False)
    # Milliseconds are printed by _ms, whatever digits a format asks for.
    table = table.replace({r"_ms:\.\df\}": "_ms}"}, regex=True)
    lines = table[["key", *Words.__annotations__]].itertuples(index=False)
    return {str(key): Words(*texts) for key, *texts in lines}


def headline(finding: Finding, step_ms: float, plain: bool = False) -> str:
    """One sentence: what is wrong, where, and the time of a step with and without it.

    plain: whether step_ms, and what is saved of it, are of a step without a profiler.
    """
    place, said = finding.place, words()[finding.key].fact
    named = [f"`{path}`" for path in (place.where, place.also) if path]
    where = " and ".join(named) or "no range"
    often = "once" if place.calls == 1 else f"{place.calls:.0f} times"
    steps = in_steps(place.pattern)
    fact = said.format(
        where=where, between=_between(finding, where), times=often, steps=steps,
        calls=f"{place.calls:.0f}", kept_ms=_ms(_kept_ms(place)),
        host_ms=_ms(place.host_ms), device_ms=_ms(place.device_ms),
    )  # fmt: skip
    if not place.pattern.always and "{steps}" not in said:
        fact += f", in {steps}"
    if finding.saves_ms != finding.saves_ms:
        return f"{fact}."
    general = MECHANISMS[finding.key].general
    ending = ((LIMIT, PLAIN_LIMIT) if general else (WITHOUT, PLAIN_WITHOUT))[plain]
    told = ending.format(without_ms=_ms(step_ms - finding.saves_ms), step_ms=_ms(step_ms))
    return f"{fact}{told}."


def _ms(milliseconds: float) -> str:
    """Whole milliseconds from 10 on, else two digits."""
    return f"{milliseconds:.0f}" if milliseconds >= 9.95 else f"{milliseconds:#.2g}"


def _between(finding: Finding, where: str) -> str:
    """Between which ranges gaps of the host lie, or in which one, and whether between steps."""
    sides = finding.between
    if not sides:
        return f"in {where}"
    paths = sides.after_path, sides.before_path
    after, before = (f"`{path}`" if path else "no range" for path in paths)
    one = sides.places > 1 or after == before
    place = f"in {where}" if one else f"between {after} and {before}"
    return f"between steps, {place}" if sides.next_step else place


def assumed(finding: Finding) -> str:
    """What a step without a finding is replayed with."""
    return words()[finding.key].assumes.format(kept_ms=_ms(_kept_ms(finding.place)))


def _kept_ms(place: Found) -> float:
    """What is left of each gap of the host that a place's changes shorten, on average."""
    kept = [np.full(each.calls.shape, each.gap) for each in place.changes if each.of_gaps]
    kept_ns = np.concatenate([NONE, *kept])
    return float(kept_ns.sum()) / max(len(kept_ns), 1) / NS_PER_MS


def in_steps(pattern: Pattern) -> str:
    """In how many steps something occurs, as "each of 5 steps"."""
    if pattern.always:
        return f"each of {pattern.recorded} steps"
    if pattern.first:
        return f"the first of {pattern.recorded} steps"
    return f"{pattern.steps} of {pattern.recorded} steps"
