"""Study levers: what pays first and after it, by case, and how well that was predicted."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.thresholds import in_percent
from workflow_src.paper.show import Headline
from workflow_src.paper.value import (
    Cell,
    Joined,
    Marked,
    Value,
    count,
    ratio,
)
from workflow_src.studies.levers.details import (
    UNTOLD,
    effect_row,
    expected_row,
    step_row,
    unpredicted,
)
from workflow_src.studies.levers.steps import (
    STEP,
    WORTH,
    Case,
    Gain,
    Step,
    cases,
    steps_of,
)
from workflow_src.studies.lines import (
    absolute,
    change,
    lines,
    most,
    shown,
    spread,
    unmeasured,
)
from workflow_src.studies.study_chapter import StudyChapter

UNCLEAR = " (undecided)"
"""Marks a remedy that others can't be told apart from."""


@dataclass(frozen=True)
class Scored:
    """How well some training steps were predicted.

    inside: of the judged ones, those whose time is inside the predicted interval.
    """

    inside: Value
    judged: Value


@dataclass(frozen=True)
class Levers:
    """What the study found; `scored`: all training steps that have a time and a prediction."""

    cases: tuple[Case, ...]
    scored: Scored
    by_case: pd.DataFrame
    steps: pd.DataFrame
    effects: pd.DataFrame
    phases: pd.DataFrame
    expected: pd.DataFrame
    unpredicted: pd.DataFrame
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Levers:
    """What the study's table says; it isn't held against the run's ceilings."""
    every = lines(table, "levers")
    found = cases(every)
    steps = [each for case in found for each in (case.plain, *case.steps) if each]
    others = [each for each in steps_of(every) if each.line.text("phase") != STEP]
    return Levers(
        cases=tuple(found),
        scored=scored([each for case in found for each in case.judged]),
        by_case=shown([_case(case) for case in found]),
        steps=shown([step_row(each) for each in steps]),
        effects=shown([effect_row(each) for each in steps if each.ms]),
        phases=shown([step_row(each) for each in others if each.ms]),
        expected=shown([row for each in steps if (row := expected_row(each))]),
        unpredicted=unpredicted(every),
        missing=unmeasured(every, lambda line: f"{line.text('case')}, {Step(line, None).words}"),
    )


def scored(steps: Sequence[Step]) -> Scored:
    """How well steps were predicted that have both a time and a prediction."""
    return Scored(
        inside=count(each.ms for each in steps if each.predicted),
        judged=count(each.ms for each in steps),
    )


def _off(step: Step) -> Value | None:
    """By how much the device's predicted work is off, without sign."""
    off = change(step.line.value("predicted_device_ms", "ms"), step.device_ms)
    return off and absolute(off)


def _case(case: Case) -> dict[str, Cell]:
    """What pays in a case, alone and on top of each other, and how many times were predicted."""
    plain, first, least = case.plain, case.first, case.least
    tried = ", ".join(each.words for each in case.alone)
    gains = tuple(map(_gain, case.gains))
    how = scored(case.judged)
    return {
        "case": case.name,
        "plain step, ms": (plain.ms or plain.line.state) if plain else None,
        "device works": ratio(plain.device_ms, plain.ms, "share") if plain else None,
        "pays most alone": _named(case, first) if first else None,
        "remedies tried alone": tried if first else None,
        "saves": first.saved if first else None,
        "saved one after the other, ms": Joined(gains, by=", ") if gains else None,
        "shortest, ms": least.ms if least else None,
        "saves in all": least.saved if least else None,
        "as predicted, of all (appendix)": (
            Joined((how.inside, how.judged), by=" of ") if case.judged else None
        ),
        "intervals' width, at most": most(each.width for each in case.judged),
        "device time off by at most": most(map(_off, case.judged)),
    }


def _gain(gain: Gain) -> Cell:
    """A remedy with what it saves, marked where processes overlap with those before it."""
    time = gain.time if gain.is_shown or not gain.time else Marked(gain.time, UNTOLD)
    return Joined((gain.words, time), by=" ")


def _named(case: Case, first: Step) -> str:
    """The remedy that saves most alone, marked where others can't be told apart from it."""
    return first.words + ("" if case.first_is_clear else UNCLEAR)


def _among(case: Case) -> str:
    """Of how many remedies it saves most alone, and whether these can be told apart."""
    return f"(of {len(case.alone)} tried{'' if case.first_is_clear else ', undecided'})"


MOSTLY = 0.9
"""Intervals of 95 % are borne out if this share of the times lies inside: of twenty, one or two may
not."""


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    FORETOLD = (
        "Alone, most is saved by {first}; the shortest step saves {saved}. "
        "{inside} of {judged} times lie in predicted 95 % intervals."
    )
    MISSED = (
        "Alone, most is saved by {first}; the shortest step saves {saved}. "
        "Only {inside} of {judged} times lie in predicted 95 % intervals."
    )
    UNPREDICTED = (
        "Alone, most is saved by {first}; the shortest step saves {saved}. "
        "No step has both a time and a prediction."
    )
    NOTHING = (
        f"No remedy alone is shown to save {in_percent(WORTH)} of a plain training step or more."
    )
    CANT_TELL = "That can't be told: no plain training step was measured beside one with a remedy."


def headline(result: Levers) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    first = [
        Joined((case.first.words, "in", case.name, _among(case)), by=" ")
        for case in result.cases
        if case.first
    ]
    slots = {
        "first": Joined(tuple(first), by=" and "),
        "saved": spread(case.least.saved for case in result.cases if case.first and case.least),
        "inside": result.scored.inside,
        "judged": result.scored.judged,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Levers) -> Verdict:
    if not any(each.saved for case in result.cases for each in case.steps):
        return Verdict.CANT_TELL
    if not any(case.first for case in result.cases):
        return Verdict.NOTHING
    inside, judged = result.scored.inside.number, result.scored.judged.number
    if not judged:
        return Verdict.UNPREDICTED
    return Verdict.FORETOLD if inside >= MOSTLY * judged else Verdict.MISSED


CHAPTER = StudyChapter(
    "What to change first: remedies predicted, tried, and scored",
    "Which change to a training step pays, what pays after it, and how well was it predicted?",
    result,
    headline,
)
