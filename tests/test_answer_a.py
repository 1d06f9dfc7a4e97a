"""Answer (a): times unprofiled and under the profiler, and the device's share of the former."""

from dataclasses import replace
from pathlib import Path
from statistics import median

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, grid, write_tables
from workflow_src.answers import forward_time
from workflow_src.answers.answer import Answer, Fact

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SHORT = Sample()
HOST_WAITED_FOR = (
    "Whenever the GPU waits for the host, whatever the profiler adds to the host's work makes the "
    "pass longer."
)


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("a", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def timed(host: float, busy: float, span: float, **others) -> Sample:
    """A case whose unprofiled forward pass takes 12 ms."""
    return Sample(times_ms={**SHORT.times_ms, "forward": (host, busy, span)}, **others)


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    """The answer's first paragraph, which the report quotes."""
    return " ".join(text.split("\n\n")[1].split())


def test_forward_times_are_medians_over_steps_with_their_rows(ask):
    answer, text = ask(SHORT)
    assert fact(answer, "host_ms").value == pytest.approx(12.6)
    assert fact(answer, "host_ms").rows == (2, 3)
    assert fact(answer, "median_ms") == Fact(SHORT.case, "median_ms", 12.0, "ms", "timings", (2,))
    assert fact(answer, "overhead").value == pytest.approx(0.05)
    assert fact(answer, "overhead").derived_from == ("host_ms", "median_ms")
    assert answer.status == "complete"
    assert short(text) == (
        "In fp32 the forward pass (small, context 128) takes 12.0 ms unprofiled and 12.6 ms under "
        "the profiler (+5.0 %): within 10 % they match."
    )


@pytest.mark.parametrize(
    ("host", "busy", "span", "expected"),
    [
        (12.6, 12.0, 12.3, "match"),
        (15.0, 9.5, 12.3, "idle"),
        (15.0, 11.9, 12.3, "profiler_overhead"),
        (15.0, 12.1, 12.3, "profiler_overhead"),
        (9.0, 8.5, 8.9, "faster_profiled"),
        (9.0, 12.0, 12.3, "not_waited_for"),
        (15.0, 0.0, 0.0, "unexplained"),
    ],
)
def test_every_verdict_on_the_forward_time_says_so(ask, host, busy, span, expected):
    assert forward_time.verdict(host, busy, span, 12.0) == expected
    answer, text = ask(timed(host, busy, span))
    assert fact(answer, "verdict").value == expected
    assert ("don't match" in text) == (expected != "match")
    said = {
        "idle": HOST_WAITED_FOR,
        "profiler_overhead": "Why isn't shown: the profiler may slow the host until the GPU waits",
        "faster_profiled": "which no cost of the profiler can explain: small, context 128",
        "not_waited_for": "the profiled time is too short: small, context 128",
        "unexplained": "No device activity was recorded",
    }
    for verdict, sentence in said.items():
        assert (sentence in text) == (verdict == expected)


def test_idle_is_judged_by_the_unprofiled_time_not_by_what_the_profiler_inflated(ask):
    answer, text = ask(timed(20.0, 11.4, 19.0))
    assert fact(answer, "busy_share").value == pytest.approx(0.57)
    assert fact(answer, "working_share").value == pytest.approx(0.95)
    assert fact(answer, "often_idle").value is False
    assert HOST_WAITED_FOR not in text
    assert "95.0 % of the unprofiled time, and 57.0 % of the profiled time" in text


def test_a_matching_case_in_which_the_gpu_is_often_idle_is_still_named(ask):
    answer, text = ask(timed(12.6, 5.0, 12.0))
    assert fact(answer, "verdict").value == "match"
    assert fact(answer, "often_idle").value is True
    named = "although the GPU works for less than 80 % of the unprofiled time, in small"
    assert named in text
    assert "The times match, although" not in ask(SHORT)[1]


def test_what_a_share_of_the_unprofiled_time_is_is_said_where_it_is_first_said(ask):
    meaning = "(device time in the capture, divided by the unprofiled time)"
    _, text = ask(SHORT, timed(20.0, 3.0, 19.0, context=256))
    assert meaning in short(text) and text.count(meaning) == 1
    _, text = ask(timed(20.0, 3.0, 19.0), timed(20.0, 3.0, 19.0, context=256))
    assert f"works for a median of 25.0 % of the time {meaning}." in text
    assert text.count(meaning) == 1


def test_a_shorter_context_that_takes_longer_is_named_with_the_idle_time_that_it_has(ask):
    slow, long = (Sample().median_ms | {"forward": ms} for ms in (16.0, 24.0))
    short_one, fast = timed(20.0, 3.0, 19.0, median_ms=slow), timed(20.0, 6.0, 19.0, context=256)
    longest = timed(24.0, 20.0, 23.0, context=512, median_ms=long)
    _, text = ask(short_one, fast, longest)
    said = "(small, context 256; 16.0 ms at context 128, where the GPU is idle for longer) to 24.0"
    assert f"takes 12.0 ms {said}" in short(text)
    busy = timed(20.0, 15.9, 19.0, median_ms=slow)
    assert "idle for longer" not in ask(busy, fast, longest)[1]
    cpu = [replace(each, device="cpu") for each in (short_one, fast, longest)]
    assert "idle for longer" not in ask(*cpu)[1]


def test_of_one_case_that_takes_longer_no_median_is_said(ask):
    _, text = ask(SHORT, timed(20.0, 3.0, 19.0, context=256))
    said = "In the one case that takes over 10 % longer, the GPU works for 25.0 % of the unprofiled"
    assert said in short(text)


def test_forward_time_without_a_benchmark_claims_no_match(ask):
    answer, text = ask(replace(SHORT, benchmarked=False))
    assert answer.status == "partial"
    assert "no unprofiled median to compare" in text
    assert "match" not in short(text)
    assert "not measured" in text


def test_without_a_capture_the_unprofiled_time_is_still_said(ask):
    _, text = ask(Sample(captured=False))
    assert "takes 12.0 ms unprofiled; there is no profiled time" in text
    assert "| 12.0 ms |" in text


def test_each_precision_is_counted_apart_and_fp32_comes_first(ask):
    bf16 = [
        timed(20.0, 6.0, 19.0, precision="bf16"),
        timed(18.0, 3.0, 17.0, precision="bf16", context=256),
    ]
    _, text = ask(*bf16, SHORT, Sample(context=256))
    assert short(text) == (
        "In fp32 the forward pass takes 12.0 ms unprofiled, and the time under the profiler "
        "matches within 10 % in both cases. It matches in bf16 in none of 2 cases. In the 2 of "
        "all 4 cases that take over 10 % longer, the GPU works for a median of 37.5 % of the "
        "unprofiled time (device time in the capture, divided by the unprofiled time), against "
        "100.0 % where the times match."
    )
    lines = text.splitlines()
    assert [line[:8] for line in lines if line.startswith("- **")] == ["- **fp32", "- **bf16"]
    assert (
        "- **bf16**: a median of +58.3 % under the profiler, and +66.7 % where it changes most "
        "(small, context 128: 12.0 and 20.0 ms). Without it, the GPU works for a median of "
        "37.5 % of the time."
    ) in lines


def test_the_matrix_shows_time_and_the_share_in_which_the_gpu_works(ask):
    _, text = ask(timed(20.0, 3.0, 19.0), Sample(context=256, captured=False))
    assert "| small           | 12.0 ms (25 %) | 12.0 ms |" in text


def test_one_precision_is_named_once(ask):
    _, text = ask(SHORT, timed(20.0, 3.0, 19.0, context=256))
    answer = text.split("## Tables of")[0]
    sentences = [line for line in answer.splitlines() if not line.startswith("|")]
    assert "\n".join(sentences).count("fp32") == 1


def test_more_than_four_cases_are_counted_by_precision_not_listed(ask):
    samples = [
        timed(20.0, 3.0, 19.0, precision=precision, context=context)
        for precision, contexts in (("fp32", (128,)), ("bf16", (128, 256, 512, 1024)))
        for context in contexts
    ]
    _, text = ask(*samples)
    assert "of the unprofiled time (1 in fp32 and 4 in bf16). Whenever the GPU waits" in text


def test_on_a_cpu_operators_take_the_time(ask):
    _, text = ask(Sample(device="cpu"), timed(20.0, 3.0, 19.0, device="cpu", context=256))
    assert "operators take less than 80 % of the unprofiled time (small, context 256)" in text
    assert "the profiler's cost per operator adds to it" in text
    for word in ("GPU", "idle for", "launch", "kernel"):
        assert word not in text.split("## Tables of")[0]


def with_processes(folder: Path, *rows: tuple[int, float, float]) -> tuple[Answer, str]:
    timings = pd.read_csv(folder / "timings.csv")
    forward = timings["phase"] == "forward"
    columns = ["processes", "fastest_ms", "slowest_ms"]
    timings.loc[forward, columns] = pd.DataFrame(rows, columns=columns).to_numpy()
    timings.to_csv(folder / "timings.csv", index=False)
    return answer_question("a", folder, TEMPLATES)


def test_the_spread_between_processes_is_said_where_several_measured(tmp_path):
    write_tables(tmp_path, SHORT, timed(15.0, 5.0, 14.0, context=256))
    answer, text = with_processes(tmp_path, (3, 11.0, 12.1), (3, 10.0, 16.0))
    assert fact(answer, "process_spread").value == pytest.approx(0.1)
    assert fact(answer, "slowest_ms").rows == (2,)
    assert (
        "Each median is over 3 fresh processes. The slowest process's median exceeds the "
        "fastest's by a median of 35.0 %, and by 60.0 % at most (small, context 256: 10.0 and "
        "16.0 ms). In some cases that don't match, the profiled time lies between the fastest and "
        "the slowest process's, so the profiler need not be why: small, context 256."
    ) in text


def test_times_whose_processes_differ_are_marked(tmp_path):
    write_tables(tmp_path, SHORT, timed(15.0, 5.0, 14.0, context=256))
    _, text = with_processes(tmp_path, (3, 11.5, 12.1), (3, 10.0, 16.0))
    assert text.count(" %)±") == 1
    assert "than the fastest (1 of the 2 cases with several processes)." in text


def test_a_match_of_an_often_idle_gpu_is_said_with_how_far_its_processes_differ(tmp_path):
    """12.6 ms under the profiler match a median of 12 ms, but hardly each process's."""
    write_tables(tmp_path, timed(12.6, 5.0, 12.0))
    differ = "in small, context 128, whose processes differ by more than 10 % among themselves."
    assert differ in with_processes(tmp_path, (3, 8.0, 14.0))[1]
    assert differ not in with_processes(tmp_path, (3, 11.5, 12.1))[1]


def test_one_process_has_no_spread(tmp_path):
    write_tables(tmp_path, SHORT)
    answer, text = with_processes(tmp_path, (1, 12.0, 12.0))
    assert "fresh processes" not in text
    assert not any(f.name == "process_spread" for f in answer.facts)


def test_an_answer_for_sixty_cases_is_short(ask):
    _, text = ask(*grid())
    assert len([line for line in text.split("## Tables of")[0].splitlines() if line]) <= 45


def test_figures_of_the_published_tables_hold_when_computed_apart():
    folder = ROOT / "examples" / "h200" / "tables"
    timings, ranges = (pd.read_csv(folder / f"{name}.csv") for name in ("timings", "ranges"))
    median_ms = timings[timings["phase"] == "forward"].set_index("case")["median_ms"]
    steps = ranges[ranges["path"] == "forward"].groupby("case")[["host_ms", "busy_ms"]].median()
    bf16 = [case for case in median_ms.index if case.endswith("bf16")]
    overheads = [steps["host_ms"][case] / median_ms[case] - 1 for case in bf16]
    worked = [steps["busy_ms"][case] / median_ms[case] for case in bf16]
    _, text = answer_question("a", folder, TEMPLATES)
    line = next(line for line in text.splitlines() if line.startswith("- **bf16"))
    assert f"a median of {100 * median(overheads):+.1f} % under the profiler" in line
    assert f"works for a median of {100 * median(worked):.1f} % of the time" in line
    assert f"in bf16 in {sum(abs(o) <= 0.1 for o in overheads)} of {len(bf16)} cases" in text
