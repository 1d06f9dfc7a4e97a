"""One capture in some sentences: what is wrong with its steps, and what wasn't read."""

import re
from collections.abc import Mapping
from enum import StrEnum

from markupsafe import Markup

from workflow_src.capture_report.diagnosis_result import WARM_UP
from workflow_src.capture_report.pace import Paced
from workflow_src.capture_report.result import Captured
from workflow_src.captures.capture import LOST_KERNELS, NO_KERNELS
from workflow_src.common.thresholds import FINDING_AT_LEAST, REPLAYED_WITHIN, in_percent
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, ratio
from workflow_src.placing.steps import REPEATED
from workflow_src.placing.updates import BETWEEN_UPDATES

WAITS = 0.05
"""The share of a process's device time from which on its waiting for others is worth a sentence."""


class Verdict(StrEnum):
    """What is said first: the finding that saves most, or why nothing is said."""

    FINDING = "{finding} {remedy}"
    NOTHING_STANDS_OUT = (
        "Nothing stands out: neither side idles, and nothing that was "
        "[looked for](docs/findings.md) costs "
        f"{in_percent(FINDING_AT_LEAST)} of a step or more."
    )
    NOT_UNDERSTOOD = (
        "Savings aren't told: replayed from its calls, a step takes {replayed} ms instead of the "
        "recorded {recorded} ms, over {tolerance} more or less. What was looked for and seen "
        "stands below."
    )
    CANT_TELL = (
        "Nothing can be said of what is wrong: {why}. What holds a step up is told by calls that "
        "launch work, which nsys records with `-t cuda,nvtx` and torch.profiler with its activity "
        "CUDA."
    )
    ON_A_CPU = (
        "Savings aren't told on a CPU, which launches nothing. Operators run in all but {outside} "
        "of a step; which ones stands below."
    )
    BETWEEN_OPERATORS = (
        "Savings aren't told on a CPU, which launches nothing. In {outside} of a step no operator "
        "runs, as Python computes or waits; the largest part of that, {gap} ms a step, comes after "
        "{after} in {after_path} and before {before} in {before_path}."
    )
    NO_STEPS = (
        "Nothing can be said of what is wrong: no steps were found, for no outermost range with "
        "nearly all device work repeats {repeats} times, by one name or by numbered ones. The "
        "setting `capture_step` names the range that is a step; the ranges that repeat stand below."
    )
    NOT_NAMED = (
        "Nothing can be said of what is wrong: no range that counts has the name {named}, which "
        "`capture_step` gives."
    )
    NO_RANGES = (
        "Nothing can be said of what is wrong: the capture has no range that counts, so its "
        "{total} ms of {takes} are one row, and no steps are told apart. docs/captures.md says how "
        "to capture with ranges."
    )
    LOST = (
        "Launches without kernels: kernels were lost, {lost} have none, so nothing is known of "
        "device time and savings. Capture again, with nsys by `--trace=cuda-sw,nvtx`, with "
        "torch.profiler in a new process."
    )
    NO_WORK = "The capture holds no device work that could be read."
    UNREADABLE = "This capture could not be read: {problem}."


class More(StrEnum):
    """What else stands at the top, where it is so."""

    LOST = (
        "Launches without kernels: {lost} have none in the file, as they were lost or ran after "
        "the capture ended, so device times are too short."
    )
    CUT = (
        "The file ends in the middle, so what came later is missing here, as kernels are, which "
        "torch.profiler writes last: copy it again."
    )
    BEHIND_HOST = (
        "Behind it: {behind} ({behind_path}), {hidden} of the device's {of} ms, which saves "
        "nothing until the host is faster. {behind_remedy}"
    )
    BEHIND_DEVICE = (
        "Behind it: {behind} ({behind_path}), {hidden} of the host's {of} ms, which only a step "
        "after a wait shows. {behind_remedy}"
    )
    WAITS = (
        "Process {process} waits for others in collectives for {waits} ms in all, {of_device} of "
        "its device time, which all tables but the one of processes count as device time."
    )
    DOUBTS = "How sure: "


class Doubt(StrEnum):
    """What may be off, one after another in the last sentence."""

    PROFILED = "the profiler makes launches longer, see `capture_step_ms`"
    UNLIKE = (
        "recorded, a step takes {recorded_step} ms, plain {plain_step} ms, so that what the host "
        "takes may be off several times"
    )
    FEW = "means of few steps ({steps}), which may be first ones"
    WARM_UP = "the steps' ranges are named as a warm-up, `capture_step` names others"
    UPDATES = "a step is what lies between two updates, as no range is one"
    PROBLEM = "not all could be diagnosed: {why}"


class Where(StrEnum):
    """How much of the device time lies in ranges, and where most of it."""

    PLACED = (
        "All {total} ms of {takes} lie in ranges. The one with the most of its own is {path}, "
        "with {most}."
    )
    PARTLY = (
        "Of {total} ms of {takes} {share} lie in ranges; what doesn't is listed with its "
        "reason. The range with the most of its own is {path}, with {most}."
    )
    UNPLACED = "None of the {total} ms of {takes} lies in a range; the reasons are listed."
    NOWHERE = ""


def headlines(found: Captured) -> tuple[Headline, ...]:
    """What is said first of a capture, with its numbers."""
    slots, pace = _slots(found), found.diagnosed.pace
    why = _unknown(found)
    said: list[Headline] = [] if why or pace is None else [pace]
    verdicts = (why or _saved(found), *_more(found, why is None))
    said += [Headline(each, each.value, slots) for each in verdicts if each]
    if doubts := _doubts(found, why is None):
        sentence = f"{More.DOUBTS.value}{'; '.join(each.value for each in doubts)}."
        said.append(Headline(More.DOUBTS, sentence, slots))
    return tuple(said)


def where(found: Captured) -> Headline:
    """Where the device time of a capture lies."""
    known = not found.problem and NO_KERNELS not in found.noted
    if not known or found.work.whole or not found.work.total.number:
        verdict = Where.NOWHERE
    elif not found.work.placed.number or found.work.leader is None:
        verdict = Where.UNPLACED
    else:
        verdict = Where.PARTLY if found.work.unplaced.number else Where.PLACED
    return Headline(verdict, verdict.value, _slots(found))


def _slots(found: Captured) -> Mapping[str, Cell]:
    work, leader, waiting = found.work, found.work.leader, found.waiting
    off = found.diagnosed.misunderstood
    finding, unlike = found.diagnosed.finding or (None, None), found.diagnosed.unlike
    behind = found.diagnosed.behind
    return {
        "recorded_step": unlike.recorded if unlike else None,
        "plain_step": unlike.other if unlike else None,
        "problem": found.problem,
        "behind": f"{behind.name[:1].lower()}{behind.name[1:]}" if behind else None,
        "behind_path": behind.path if behind else None,
        "behind_remedy": behind.remedy if behind else None,
        "hidden": behind.ms if behind else None,
        "of": behind.of if behind else None,
        "finding": Markup(finding[0]) if finding[0] else None,
        "remedy": finding[1],
        **_outside(found),
        "tolerance": in_percent(REPLAYED_WITHIN),
        "steps": found.diagnosed.few,
        "replayed": off.other if off else None,
        "recorded": off.recorded if off else None,
        "why": found.diagnosed.problem,
        "total": work.total,
        "takes": work.takes,
        "share": ratio(work.placed, work.total, "share", "placed / total"),
        "path": leader.path if leader else None,
        "most": leader.share if leader else None,
        "lost": found.noted.get(NO_KERNELS) or found.noted.get(LOST_KERNELS),
        "named": found.noted.get("no step"),
        "repeats": str(REPEATED),
        "process": waiting.process if waiting else None,
        "waits": waiting.ms if waiting else None,
        "of_device": waiting.share if waiting else None,
    }


def _outside(found: Captured) -> Mapping[str, Cell]:
    if found.work.outside is None:
        return {}
    gap, share = found.work.outside.gap, found.work.outside.share
    if gap is None:
        return {"outside": share}
    places = {"after": gap.after, "after_path": gap.after_path}
    places |= {"before": gap.before, "before_path": gap.before_path}
    return {"outside": share, "gap": gap.ms, **places}


def _unknown(found: Captured) -> Verdict | None:
    """The first of these that holds: why nothing is known of its steps."""
    outside = None if found.diagnosed.known else found.work.outside
    verdicts = {
        Verdict.UNREADABLE: found.problem is not None,
        Verdict.LOST: NO_KERNELS in found.noted,
        Verdict.NO_WORK: not found.work.total.number,
        Verdict.NO_RANGES: found.work.whole,
        Verdict.NOT_NAMED: "no step" in found.noted,
        Verdict.NO_STEPS: not found.steps_found,
        Verdict.BETWEEN_OPERATORS: outside is not None and outside.gap is not None,
        Verdict.ON_A_CPU: outside is not None,
        Verdict.CANT_TELL: not found.diagnosed.known,
    }
    return next((verdict for verdict, holds in verdicts.items() if holds), None)


def _saved(found: Captured) -> Verdict | None:
    """What is said of savings; nothing of none beside a side that idles."""
    of = found.diagnosed
    verdicts = {
        Verdict.NOT_UNDERSTOOD: of.misunderstood is not None,
        Verdict.FINDING: of.finding is not None,
        Verdict.NOTHING_STANDS_OUT: of.pace is None,
    }
    return next((verdict for verdict, holds in verdicts.items() if holds), None)


def _more(found: Captured, known: bool) -> list[More]:
    waiting, behind = found.waiting, found.diagnosed.behind
    said = {
        More.LOST: LOST_KERNELS in found.noted,
        More.CUT: "cut off" in found.noted,
        More.BEHIND_HOST: known and behind is not None and behind.device,
        More.BEHIND_DEVICE: known and behind is not None and not behind.device,
        More.WAITS: waiting is not None and waiting.share.number >= WAITS,
    }
    return [each for each, holds in said.items() if holds]


def _doubts(found: Captured, known: bool) -> list[Doubt]:
    of = found.diagnosed
    of_host = of.pace is not None and of.pace.verdict is not Paced.DEVICE
    doubts = {
        Doubt.PROFILED: known and of_host and not of.plain,
        Doubt.UNLIKE: of.unlike is not None,
        Doubt.FEW: of.few is not None,
        Doubt.WARM_UP: any(re.search(WARM_UP, each) for each in of.paths),
        Doubt.UPDATES: any(BETWEEN_UPDATES in each for each in of.paths),
        Doubt.PROBLEM: of.known and of.problem is not None,
    }
    return [each for each, holds in doubts.items() if holds]
