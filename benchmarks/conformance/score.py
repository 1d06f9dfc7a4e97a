"""How right an answer is: shares of the device time of a trace."""

from dataclasses import dataclass

from benchmarks.conformance.truth import INCLUSIVE, OWN, PATH, QUANTITIES, SPAN, Answer, Truth

NOWHERE = "\0"
"""The key of device time that is in no range."""


@dataclass(frozen=True)
class Score:
    """One tool on one trace. None: the tool's report doesn't say.

    attributed: the share of device time that it puts into any range.
    right: the share that it puts where it belongs; time that belongs nowhere does so if the tool
    says that it is in no range.
    told: whether what it attributes and what it says is in no range make up all device time.
    """

    attributed: float | None = None
    right: float | None = None
    told: bool | None = None
    refused: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0


def scored(answer: Answer, truth: Truth, seconds: float = 0.0, peak_mb: float = 0.0) -> Score:
    """Judge an answer by the first quantity that it and the truth have."""
    if answer.refused:
        return Score(refused=answer.refused)
    if answer.host_only:
        return Score(seconds=seconds, peak_mb=peak_mb)
    attributed = _attributed(answer, truth)
    told = None
    if truth.total:
        known = (attributed or 0) + (answer.nowhere or 0) + answer.libraries
        told = attributed is not None and known >= truth.total
    share = None if attributed is None or not truth.total else attributed / truth.total
    return Score(share, _right(answer, truth), told, "", seconds, peak_mb)


def _attributed(answer: Answer, truth: Truth) -> int | None:
    """Device time that an answer puts into any range, at most all of it."""
    for quantity in (PATH, OWN):
        if quantity in answer.sums:
            return min(sum(answer.sums[quantity].values()), truth.total)
    if INCLUSIVE in answer.sums:
        found = answer.sums[INCLUSIVE]
        return min(sum(found.get(name, 0) for name in truth.roots), truth.total)
    return None


def _right(answer: Answer, truth: Truth) -> float | None:
    for quantity in QUANTITIES:
        if quantity in answer.sums and quantity in truth.sums:
            given, true = dict(answer.sums[quantity]), dict(truth.sums[quantity])
            if quantity != SPAN:
                given[NOWHERE], true[NOWHERE] = answer.nowhere or 0, truth.nowhere
            return _overlap(given, true, truth.complete)
    if SPAN in answer.sums and INCLUSIVE in truth.sums:
        true = dict(truth.sums[INCLUSIVE])
        spans = answer.sums[SPAN]
        return _overlap({k: min(spans.get(k, 0), ns) for k, ns in true.items()}, true, False)
    return None


def _overlap(given: dict[str, int], true: dict[str, int], complete: bool) -> float | None:
    """The part of two sets of sums that agrees, as a share of the larger one."""
    if not complete:
        given = {key: given.get(key, 0) for key in true}
    agreed = sum(min(given.get(key, 0), ns) for key, ns in true.items())
    larger = max(sum(given.values()), sum(true.values()))
    return agreed / larger if larger else None
