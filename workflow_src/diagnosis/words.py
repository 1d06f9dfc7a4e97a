"""What is said of a finding: its headline, and what the step without it is replayed with."""

from typing import Any

import numpy as np

from workflow_src.diagnosis.finding import MECHANISMS, Finding, quotable

SAVES = "; fixing it saves about {saves_ms} of a {plain}step's {step_ms} ms"
LIMIT = "; one launch for all, the best case, saves {saves_ms} of a {plain}step's {step_ms} ms"


def headline(finding: Finding, step_ms: float, plain: bool = False) -> str:
    """One sentence: what is wrong, where, and what fixing it saves.

    plain: whether step_ms and what is saved are of a step without a profiler.
    """
    mechanism, told = MECHANISMS[finding.key], finding.told
    places = map(quotable, (finding.where, told["also_in"]))
    where = " and ".join(f"`{path}`" for path in places if path)
    place = f"in {where}" if where else "outside all ranges"
    some = told["in_steps"] < told["of_steps"]
    steps = f"{told['in_steps'] if some else 'each'} of {told['of_steps']} steps"
    lies = told.get("ranges") or place
    named = {
        "place": place,
        "between": f"from one step to the next, {lies}" if told.get("next_step") else lies,
        "times": "once" if told["calls"] == 1 else f"{told['calls']} times",
        "steps": steps,
    }
    fact = mechanism.fact.format(**numbers(finding) | named)
    if some and "{steps}" not in mechanism.fact:
        fact += f", in {steps}"
    if np.isnan(finding.saves_ms):
        return f"{fact}."
    saved = (LIMIT if mechanism.general else SAVES).format(
        plain="plain " * plain, saves_ms=_ms(finding.saves_ms), step_ms=_ms(step_ms)
    )
    # Without a profiler the fact takes less.
    return f"{fact}{' (as recorded)' * plain}{saved}."


def numbers(finding: Finding) -> dict[str, Any]:
    """What formats of mechanisms.csv name, times as text."""
    times = {"host_ms": finding.host_ms, "device_ms": finding.device_ms}
    told = {"kept_ms": 0.0, **finding.told, **times}
    return {name: _ms(each) if name.endswith("_ms") else each for name, each in told.items()}


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f}" if milliseconds >= 9.95 else f"{milliseconds:#.2g}"
