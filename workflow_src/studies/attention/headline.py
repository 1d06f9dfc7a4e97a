"""The attention study in a sentence: the fastest against the written-out one."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.studies.attention.result import Against, Attention


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    FASTER = (
        "At context {context}, the longest at which the written-out version ran, {best} is "
        "{speedup} as fast, in {time} against {naive_time} ms for both passes, with {memory} "
        "against {naive_memory} MiB of memory."
    )
    NONE_FASTER = (
        "At context {context}, the longest at which the written-out version ran, nothing measured "
        "is clearly faster than its {naive_time} ms for both passes."
    )
    NO_WRITTEN_OUT = (
        "The written-out version has no time of both passes; at context {context}, the longest "
        "measured, {best} takes the least: {time} ms."
    )
    CANT_TELL = "No attention was measured in both passes, so which is fastest can't be told."


def headline(result: Attention) -> Headline:
    """The verdict on a result, with its numbers."""
    against, verdict = result.against, _verdict(result.against)
    naive = against and against.naive
    slots = {
        "context": against and against.context,
        "best": against and against.best.name,
        "speedup": against and against.speedup,
        "time": against and against.best.total,
        "memory": against and against.best.memory,
        "naive_time": naive and naive.total,
        "naive_memory": naive and naive.memory,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(against: Against | None) -> Verdict:
    if against is None:
        return Verdict.CANT_TELL
    if against.naive is None:
        return Verdict.NO_WRITTEN_OUT
    return Verdict.FASTER if against.apart else Verdict.NONE_FASTER
