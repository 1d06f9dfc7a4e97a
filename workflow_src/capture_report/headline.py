"""One capture in some sentences: what is wrong with its steps, and what wasn't read."""

from collections.abc import Mapping
from enum import StrEnum

from markupsafe import Markup

from workflow_src.capture_report.diagnosis_result import FEW_STEPS
from workflow_src.capture_report.result import Captured
from workflow_src.captures.capture import LOST_KERNELS, NO_KERNELS
from workflow_src.common.thresholds import REPLAYED_WITHIN, in_percent
from workflow_src.diagnosis.words import NOTHING
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, ratio
from workflow_src.placing.steps import REPEATED

WAITS = 0.05
"""The share of a process's device time from which on its waiting for others is worth a sentence."""


class Verdict(StrEnum):
    """What is said first: the finding that saves most, or why nothing is said."""

    FINDING = "{finding}"
    NOTHING_STANDS_OUT = f"{NOTHING}. What a step does stands below."
    NOT_UNDERSTOOD = (
        "Nothing is said of savings: replayed from its calls, a step takes {replayed} ms instead "
        "of the recorded {recorded} ms, and {tolerance} more or less is allowed. What was looked "
        "for and seen stands below."
    )
    TOO_FEW_STEPS = (
        "Nothing is said of savings: replayed from its calls, a step takes {replayed} ms instead "
        "of the recorded {recorded} ms, and {tolerance} more or less is allowed. What was looked "
        "for and seen stands below; a capture of more than {few} steps in a row may be understood."
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
    PLAIN = (
        "Savings are of the plain step, whose time the setting `capture_step_ms` gives; all other "
        "times are as recorded under the profiler."
    )
    PROFILED = (
        "Savings are of the step under its profiler, which makes every launch dearer. The setting "
        "`capture_step_ms` takes the time of a step without one, as a trainer logs it."
    )
    UNLIKE = (
        "Recorded, a step takes {recorded_step} ms, plain {plain_step} ms: most of the recorded "
        "time is the profiler's, which costs more in some calls than in others. What the host "
        "takes, and savings of it, may be off several times."
    )
    SEVERAL = (
        "Findings stand in the order of what each saves alone; the column `without all so far` has "
        "each row with all rows above it, which may share its kernels."
    )
    BEYOND = (
        "With work go the pauses around it, and while the host waits nothing is launched: a "
        "finding may save more than it takes of either."
    )
    LESS = (
        "A finding may save less than it takes: something is assumed in its place, and a step gets "
        "shorter only until the other of host and device sets its pace."
    )
    LAUNCHES = (
        "Kernels are short and the host takes longer than the device, as in small programs: a CUDA "
        "graph, torch.compile or larger batches launch less."
    )
    WAITING = (
        "A device works nearly all of the time here, so what the host waits for is that work: such "
        "rows come last."
    )
    HIDDEN = (
        "The device hides {hidden} ms a step that the host takes in {hidden_path}, listed as "
        "smaller: a step that begins after a wait may take so much longer."
    )
    FEW = "A step's times are the mean of few steps ({steps}), which may be first ones and longer."
    WARM_UP = "The steps' ranges are named as a warm-up: `capture_step` names others."
    UPDATES = (
        "A step lies between two updates by torch's optimizer, `(from update to update)`, as no "
        "range is a step."
    )
    PROBLEM = "Not all could be diagnosed: {why}."
    WAITS = (
        "Process {process} waits for others in collectives for {waits} ms in all, {of_device} of "
        "its device time. All tables but the one that compares processes count waiting as device "
        "time."
    )


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
    slots = _slots(found)
    verdicts = (_verdict(found), *_more(found))
    return tuple(Headline(verdict, verdict.value, slots) for verdict in verdicts)


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
    finding, unlike = found.diagnosed.headline, found.diagnosed.unlike
    hidden = found.diagnosed.hidden
    return {
        "recorded_step": unlike.recorded if unlike else None,
        "plain_step": unlike.other if unlike else None,
        "problem": found.problem,
        "hidden": hidden.ms if hidden else None,
        "hidden_path": hidden.path if hidden else None,
        "finding": Markup(finding) if finding else None,
        **_outside(found),
        "tolerance": in_percent(REPLAYED_WITHIN),
        "few": str(FEW_STEPS),
        "steps": found.diagnosed.needs.few,
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


def _verdict(found: Captured) -> Verdict:
    """The first of these that holds."""
    diagnosed = found.diagnosed
    outside = None if diagnosed.steps else found.work.outside
    verdicts = {
        Verdict.UNREADABLE: found.problem is not None,
        Verdict.LOST: NO_KERNELS in found.noted,
        Verdict.NO_WORK: not found.work.total.number,
        Verdict.NO_RANGES: found.work.whole,
        Verdict.NOT_NAMED: "no step" in found.noted,
        Verdict.NO_STEPS: not found.steps_found,
        Verdict.BETWEEN_OPERATORS: outside is not None and outside.gap is not None,
        Verdict.ON_A_CPU: outside is not None,
        Verdict.CANT_TELL: not diagnosed.steps,
        Verdict.TOO_FEW_STEPS: diagnosed.misunderstood is not None
        and diagnosed.needs.few is not None,
        Verdict.NOT_UNDERSTOOD: diagnosed.misunderstood is not None,
        Verdict.FINDING: diagnosed.headline is not None,
    }
    holding = (verdict for verdict, holds in verdicts.items() if holds)
    return next(holding, Verdict.NOTHING_STANDS_OUT)


def _more(found: Captured) -> list[More]:
    waiting, diagnosed, needs = found.waiting, found.diagnosed, found.diagnosed.needs
    saves = _verdict(found) is Verdict.FINDING
    said = {
        More.LOST: LOST_KERNELS in found.noted,
        More.CUT: "cut off" in found.noted,
        More.PLAIN: saves and diagnosed.plain,
        More.PROFILED: saves and not diagnosed.plain and needs.host,
        More.UNLIKE: diagnosed.unlike is not None,
        More.SEVERAL: saves and len(diagnosed.tables["findings"]) > 1,
        More.LAUNCHES: saves and needs.launches,
        More.BEYOND: saves and needs.beyond,
        More.LESS: saves and needs.less,
        More.WAITING: needs.waiting,
        More.HIDDEN: diagnosed.hidden is not None,
        More.FEW: needs.few is not None,
        More.WARM_UP: needs.warm_up,
        More.UPDATES: needs.updates,
        More.PROBLEM: diagnosed.steps and diagnosed.problem is not None,
        More.WAITS: waiting is not None and waiting.share.number >= WAITS,
    }
    return [each for each, holds in said.items() if holds]
