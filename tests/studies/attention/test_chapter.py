"""Which attention is fastest, from small tables done by hand."""

import pandas as pd
import pytest

from tests.studies.tables import printed, table
from workflow_src.paper.show import Printer
from workflow_src.studies.attention.chapter import Attention, Verdict, headline, result

OOM = {"status": "oom", "reason": "full", "median_ms": None, "peak_mib": None}


def pair(
    name: str, context: int, ms: float, mib: float, **other: object
) -> list[dict[str, object]]:
    """Both passes, the backward one with twice the time and twice the peak memory."""
    about = {"sweep": "core", "implementation": name, "precision": "bf16", "batch": 8, "heads": 1}
    about |= {"context": context, "head_size": 64, "gpu": "NVIDIA H200"}
    return [
        about
        | {"phase": phase, "median_ms": t, "p20_ms": 0.9 * t, "p80_ms": 1.1 * t, "peak_mib": m}
        | {"kept_mib": mib, "kernels": 3}
        | other
        for phase, t, m in (("forward", ms, mib), ("backward", 2 * ms, 2 * mib))
    ]


CROSSING = [
    *(row for context, ms in ((128, 1.0), (512, 16.0)) for row in pair("naive", context, ms, ms)),
    *(
        row
        for context, ms in ((128, 2.0), (512, 4.0))
        for row in pair("sdpa_flash", context, ms, 1)
    ),
]


def found(*rows: dict[str, object]) -> Attention:
    return result(table(*rows), pd.DataFrame())


def test_passes_in_turn_are_told_where_one_phase_is_missing() -> None:
    """A table without a phase once ended the whole section in KeyError: 'backward'."""
    forward = {"sweep": "loop", "head_size": 16, "context": 8, "phase": "forward", "samples": 100}
    forward |= {"mean_ms": 0.5, "predicted_before_backward_mib": 3.0, "before_backward_mib": 3.0}
    assert printed(found(forward).loops) == [["16", "8", "100", "50.0", "3.00 → 3.00"]]


def test_times_of_both_passes_by_context_and_what_is_fastest() -> None:
    assert printed(found(*CROSSING).contexts) == [
        ["128", "3.0", "6.0", "written out"],
        ["512", "48", "12", "SDPA flash"],
    ]


def test_those_that_overlap_the_fastest_are_named_with_it() -> None:
    """Short calls are launch-bound: the order of their medians is the host's luck."""
    near, far = pair("fused_softmax", 128, 1.2, 1.0), pair("sdpa_math", 128, 1.3, 1.0)
    rows = printed(found(*pair("naive", 128, 1.0, 1.0), *near, *far).contexts)
    assert rows[0][-1] == "written out or torch's softmax"


def test_the_share_in_which_the_device_works_needs_a_profile_of_both_passes() -> None:
    forward, backward = pair("naive", 128, 1.0, 1.0, busy_ms=0.5)
    assert printed(found(forward, backward).contexts)[0][1] == "3.0 at 33 %"
    assert printed(found(forward, backward | {"busy_ms": None}).contexts)[0][1] == "3.0"
    on_cpu = {"gpu": None}
    assert printed(found(forward | on_cpu, backward | on_cpu).contexts)[0][1] == "3.0"


@pytest.mark.parametrize(("contexts", "power"), [((128, 256), "3.00"), ((128, 512), "1.50")])
def test_memory_grows_by_a_power_of_the_context(contexts: tuple[int, int], power: str) -> None:
    low, high = contexts
    rows = found(*pair("naive", low, 1.0, 1.0), *pair("naive", high, 1.0, 8.0)).cores.memory
    assert printed(rows)[0] == [str(low), "1.00 + 2.00"]
    assert printed(rows)[-1] == ["grows by the power of", power]


def test_without_peaks_the_kept_memory_counts() -> None:
    rows = found(*(row | {"peak_mib": None} for row in pair("naive", 128, 1.0, 4.0)))
    assert printed(rows.cores.memory)[0] == ["128", "4.00 + 4.00"]


def test_what_ran_out_of_memory_has_no_total() -> None:
    forward, backward = pair("naive", 1024, 9.0, 99.0)
    rows = found(*CROSSING, forward, backward | OOM)
    assert rows.against and rows.against.context == 512
    assert printed(rows.cores.times)[-1][:3] == ["64", "1024", "9.0 + OOM"]
    assert printed(rows.unmeasured) == [["written out, backward, core", "OOM", "full", "1"]]


def test_another_head_size_is_shown_if_64_was_not_measured() -> None:
    small = [
        *pair("naive", 128, 1.0, 1.0, head_size=16),
        *pair("naive", 128, 2.0, 1.0, head_size=32),
    ]
    shape = found(*small).shape
    assert shape and (shape.head_size, shape.precision, shape.batch) == (32, "bf16", 8)
    shape = found(*small, *CROSSING).shape
    assert shape and shape.head_size == 64


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        (CROSSING, Verdict.FASTER, "SDPA flash takes 12 ms for both passes against that one's 48"),
        (CROSSING[:2], Verdict.NONE_FASTER, "At context 128"),
        (CROSSING[:2] + pair("sdpa_math", 128, 0.95, 1.0), Verdict.NONE_FASTER, "its 3.0 ms"),
        (CROSSING[4:], Verdict.NO_WRITTEN_OUT, "at context 512, the longest measured, SDPA flash"),
        (CROSSING[:1], Verdict.CANT_TELL, "can't be told"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: Verdict, said: str) -> None:
    made = headline(found(*rows))
    assert made.verdict is verdict
    assert said in made.text(Printer())
