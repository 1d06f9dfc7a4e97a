"""Answer (a): launch-bound, by replay or as an estimate."""

from pathlib import Path

import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, grid, write_tables
from tests.test_answer_a import TEMPLATES, fact, short, timed
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import TableError
from workflow_src.answers.provenance import unsupported

REASON = "CUDA error: operation not permitted when stream is capturing"


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("a", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def replayed(ms: float, busy: float = 3.0, **others) -> Sample:
    """A case whose unprofiled forward pass takes 12 ms, replayed `ms`, with `busy` ms of work."""
    return timed(20.0, busy, 19.0, replayed_ms={"forward": ms}, **others)


def paragraph(text: str, start: str) -> str:
    (found,) = [part for part in text.split("\n\n") if part.startswith(start)]
    return " ".join(found.split())


def test_the_share_that_a_replay_saves_is_a_fact_with_its_rows(ask):
    answer, text = ask(replayed(4.0))
    case = Sample().case
    assert fact(answer, "replayed_median_ms") == Fact(
        case, "replayed_median_ms", 4.0, "ms", "timings", (2,)
    )
    share = fact(answer, "launch_bound_share")
    assert share.value == pytest.approx(2 / 3) and share.unit == "1"
    assert share.derived_from == ("replayed_median_ms", "median_ms")
    assert short(text).endswith(
        "they don't match. A replay as a CUDA graph saves 66.7 % of the unprofiled time: by that "
        "share the pass is launch-bound."
    )
    assert paragraph(text, "**Launch-bound.**") == (
        "**Launch-bound.** The host asks the GPU for each kernel; where it is too slow, the GPU "
        "waits. A replayed CUDA graph runs the same kernels without the host's work for each: "
        "Python, PyTorch and the driver's launch. Of the unprofiled time it saves "
        "66.7 % (small, context 128: 12.0 ms, replayed 4.00 ms)."
    )
    assert "| 66.7 %" in text.split("## Tables of")[1]
    assert "isn't tested" not in text and "estimate" not in text


@pytest.mark.parametrize(
    ("ms", "busy", "said"),
    [
        (4.0, 3.9, "take 1.026 times as long, gaps between kernels included, so without the "
         "profiler it is about the same."),
        (4.0, 5.0, "take 0.800 times as long, gaps between kernels included, so without the "
         "profiler it can be shorter."),
        (4.0, 3.0, "take 1.333 times as long, gaps between kernels included, so whether it is the "
         "same without the profiler isn't shown."),
    ],
)  # fmt: skip
def test_replays_test_whether_the_device_works_as_long_without_the_profiler(ask, ms, busy, said):
    answer, text = ask(replayed(ms, busy=busy))
    assert f"under the profiler only. Replays, which aren't profiled, {said}" in text
    assert not unsupported(text, answer.as_dict())
    assert "taken to be the same without it" in ask(Sample())[1]


def test_how_far_processes_differ_in_what_a_replay_saves_is_said(ask):
    """Only of cases of several processes; the others have none."""
    samples = [
        replayed(4.0, launch_bound={"forward": (0.6, 0.7)}),
        replayed(4.0, context=256, launch_bound={"forward": (0.45, 0.75)}),
        replayed(4.0, context=512),
    ]
    answer, text = ask(*samples)
    assert (
        "Between the processes of one case, each of which was replayed, the share differs by a "
        "median of 20.0 points in 2 cases, and by 30.0 points at most (small, context 256: 45.0 % "
        "to 75.0 %)."
    ) in " ".join(text.split())
    (most,) = [
        each
        for each in answer.facts
        if each.name == "most_launch_bound_share" and each.case == samples[0].case
    ]
    assert (most.value, most.unit, most.table) == (0.7, "1", "timings")
    assert "Between the processes" not in ask(replayed(4.0))[1]


def test_a_replay_that_is_slower_saves_less_than_nothing(ask):
    answer, _ = ask(replayed(13.0, busy=11.0))
    assert fact(answer, "launch_bound_share").value == pytest.approx(1 - 13 / 12)


def test_each_precision_says_its_median_and_the_cases_at_both_ends(ask):
    fp32 = [replayed(11.4, busy=11.3), replayed(10.8, busy=11.0, context=256)]
    bf16 = [
        replayed(ms, busy=2.5, precision="bf16", context=context)
        for ms, context in ((6.0, 128), (3.0, 256), (4.8, 512))
    ]
    answer, text = ask(*fp32, *bf16)
    assert (
        "A replay as a CUDA graph saves a median of 7.5 % in fp32 (2 cases) and a median of 60.0 % "
        "in bf16 (3 cases) of the unprofiled time: by that share the pass is launch-bound."
    ) in short(text)
    body = text.split("## Tables of")[0]
    assert paragraph(body, "**Launch-bound.**").endswith("Of the unprofiled time it saves:")
    assert (
        "\n- **fp32**: 5.0 % (small, context 128: 12.0 ms, replayed 11.4 "
        "ms) to 10.0 % (small, context 256: 12.0 ms, replayed 10.8 ms).\n"
        "- **bf16**: 50.0 % (small, context 128: 12.0 ms, replayed 6.00 "
        "ms) to 75.0 % (small, context 256: 12.0 ms, replayed 3.00 ms).\n"
    ) in body
    assert (
        "Where the GPU works for less than 80 % of the unprofiled time, a replay takes away 63.2 % "
        "or more of the idle time in all 3 cases tested, so the host's work is the cause."
    ) in body
    matrix = text.split("that a replay saves:\n\n")[1]
    assert "| small           | 50.0 % | 75.0 % | 60.0 % |" in matrix
    assert not unsupported(text, answer.as_dict())


def test_the_verdict_on_an_idle_device_names_the_cause_that_was_tested(ask):
    answer, text = ask(replayed(4.0), replayed(11.0, context=256))
    assert fact(answer, "verdict").value == "idle"
    assert fact(answer, "idle_removed").value == pytest.approx(8 / 9)
    assert fact(answer, "idle_removed").derived_from == (
        "replayed_median_ms", "median_ms", "busy_ms"
    )  # fmt: skip
    causes = {each.case: each.value for each in answer.facts if each.name == "idle_cause"}
    assert list(causes.values()) == ["launches", "other"]
    assert (
        "takes away 88.9 % of the idle time in 1 of 2 cases tested, so the host's work is the "
        "cause; in small, context 256 the cause is another, as most of the idle time stays." in text
    )
    table = text.split("## Tables of")[1]
    assert "differ: the device waits for the host for much of the unprofiled time" in table
    assert "for much of the unprofiled time, and not for the host" in table


def test_an_idle_device_that_a_replay_leaves_idle_does_not_wait_for_launches(ask):
    _, text = ask(replayed(11.0))
    said = "a replay leaves most of the idle time: the host's work is not the cause."
    assert said in text


def test_a_replay_that_leaves_no_idle_time_takes_away_all_of_it(ask):
    _, text = ask(replayed(3.0))
    assert "a replay takes away all of the idle time in the one case tested" in text


def test_a_share_below_zero_is_explained_where_there_is_one(ask):
    said = "Of the unprofiled time it saves (below 0 where it took longer)"
    assert said in ask(replayed(13.0, busy=11.0))[1]
    assert "below 0" not in ask(replayed(4.0))[1]


def test_what_cant_be_captured_is_listed_with_its_reason_and_estimated(ask):
    failed = timed(20.0, 3.0, 19.0, context=256, not_replayed={
        "forward": ("not_capturable", REASON)
    })  # fmt: skip
    answer, text = ask(replayed(4.0), failed)
    assert f"Not replayed (not capturable: {REASON}): small, context 256." in text
    estimate = fact(answer, "launch_bound_estimate", failed.case)
    assert (estimate.value, estimate.derived_from) == (0.75, ("median_ms", "busy_ms"))
    assert (
        "Without a replay, launch-bound is an estimate, the share of the unprofiled "
        "time in which the device has no work: 75.0 %." in text
    )
    assert "| not capturable |" in text.split("## Tables of")[1]


def test_a_replay_that_ran_out_of_memory_is_listed(ask):
    oom = {"forward": ("oom", "CUDA out of memory")}
    _, text = ask(timed(20.0, 3.0, 19.0, not_replayed=oom))
    assert "Not replayed (OOM: CUDA out of memory): small, context 128." in text


def test_a_replay_that_failed_is_listed(ask):
    failed = {"forward": ("failed", REASON)}
    _, text = ask(timed(20.0, 3.0, 19.0, not_replayed=failed))
    assert f"Not replayed (failed: {REASON}): small, context 128." in text


def test_without_replay_the_ledgers_device_work_is_the_estimate_and_no_cause(ask):
    answer, text = ask(timed(20.0, 3.5, 19.0, active_ms={"forward": 3.0}))
    assert fact(answer, "device_active_ms") == Fact(
        Sample().case, "device_active_ms", 3.0, "ms", "ledger", (2, 3)
    )
    estimate = fact(answer, "launch_bound_estimate")
    assert estimate.value == 0.75 and estimate.derived_from == ("median_ms", "device_active_ms")
    said = "isn't tested: nothing was replayed. Without a replay, launch-bound is an estimate"
    assert f"Why the device is idle {said}" in text
    assert "launch-bound" not in short(text)
    assert not [each for each in answer.facts if each.name in ("launch_bound_share", "idle_cause")]


def test_an_older_run_without_a_ledger_is_estimated_from_busy(tmp_path):
    folder = write_tables(tmp_path, timed(20.0, 3.0, 19.0))
    (folder / "ledger.csv").unlink()
    answer, _ = answer_question("a", folder, TEMPLATES)
    assert fact(answer, "launch_bound_estimate").derived_from == ("median_ms", "busy_ms")


def test_on_a_cpu_nothing_is_said_of_launches(ask):
    answer, text = ask(timed(20.0, 3.0, 19.0, device="cpu", active_ms={"forward": 3.0}))
    assert "aunch" not in text and "replay" not in text
    assert not [each for each in answer.facts if each.name.startswith("launch")]


def test_an_answer_for_sixty_replayed_cases_is_short(ask):
    samples = grid()
    for sample in samples:
        sample.replayed_ms = {"forward": sample.median_ms["forward"] - 2.0}
    answer, text = ask(*samples)
    assert len([line for line in text.split("## Tables of")[0].splitlines() if line]) <= 50
    assert not unsupported(text, answer.as_dict())


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("replayed_median_ms", "fast", "Unable to parse string"),
        ("replayed_median_ms", "-1", "holds a negative"),
        ("replay_status", "perhaps", "replay_status: 'perhaps' is not one of"),
    ],
)
def test_a_damaged_replay_is_refused_in_one_sentence(tmp_path: Path, column, value, said):
    folder = write_tables(tmp_path, replayed(4.0))
    lines = (folder / "timings.csv").read_text().splitlines()
    place = lines[0].split(",").index(column)
    cells = lines[1].split(",")
    cells[place] = value
    (folder / "timings.csv").write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    with pytest.raises(TableError, match=said):
        answer_question("a", folder, TEMPLATES)
