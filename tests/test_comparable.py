"""What compares a benchmark with a capture is withheld where other work kept the machine busy."""

from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import FORWARD, TRAIN, Kernel, Sample, tables, write_tables
from workflow_src.answers import comparable
from workflow_src.answers.answer import Answer
from workflow_src.answers.evidence import cases_of
from workflow_src.answers.provenance import unsupported
from workflow_src.report import overview

TEMPLATES = Path(__file__).parent.parent / "report_templates"
BUSY = 9.0
"""A load that is high for 2 cores."""

PHASES = ("forward", "forward_backward", "train_step")
AGAIN = (
    "To measure a case again when nothing else runs: `snakemake --cores 1 report.md -R "
    "results/{tag}/benchmark/small-ctx128-fp32.json "
    "results/{tag}/capture/small-ctx128-fp32.kineto.json.gz`."
)


@pytest.fixture
def ask(tmp_path):
    def asked(question: str, *samples: Sample) -> tuple[Answer, str]:
        found, text = answer_question(question, write_tables(tmp_path, *samples), TEMPLATES)
        assert unsupported(text, found.as_dict()) == []
        return found, text

    return asked


def machine(load: float | str, cores: int = 2) -> dict[str, object]:
    return {"load_average_before": load, "load_average_after": 9.0, "cpu_cores": cores}


def on_cpu(
    host: float = 12.6, busy: float = 11.4, load: float = 1.0, context: int = 128, **others
) -> Sample:
    """A case of which each phase takes 12 ms unprofiled, 11.4 to 13.2 ms from p20 to p80."""
    kernels: dict[str, list[Kernel]] = {"forward": FORWARD, "train_step": TRAIN[:1]}
    given = {"device": "cpu", "environment": machine(load), "kernels": kernels} | others
    times = {"median_ms": dict.fromkeys(PHASES, 12.0), "context": context}
    return Sample(**times, times_ms=dict.fromkeys(PHASES, (host, busy, host)), **given)


def short(text: str) -> str:
    return " ".join(text.split("\n\n")[1].split())


def remark(text: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith("※")]
    return line


def doubt(sample: Sample) -> str:
    """The doubt of a case's forward pass in the report's table of times."""
    made = tables(sample)
    names = ("timings", "ranges", "captures", "environments")
    case = cases_of(made["timings"])
    return str(overview.timing_rows(case, *(made[name] for name in names))[0]["doubt"])


@pytest.mark.parametrize(
    ("host", "busy", "load", "expected"),
    [
        (12.6, 11.4, 1.0, ""),
        (12.6, 12.0, 1.0, ""),
        (12.6, 12.1, 1.0, "over"),
        (11.0, 10.5, 1.0, ""),
        (10.7, 10.5, 1.0, "shorter"),
        (12.6, 11.4, 3.0, ""),
        (12.6, 11.4, 3.1, "busy"),
        (12.6, 11.4, BUSY, "busy"),
    ],
)
def test_the_doubt_of_a_case_on_a_cpu(host, busy, load, expected):
    assert doubt(on_cpu(host, busy, load)) == expected


def test_a_faster_profiled_time_within_the_spread_of_the_unprofiled_is_no_doubt(monkeypatch):
    wide = on_cpu(10.7, 10.5)
    narrow = wide.timings()
    monkeypatch.setattr(Sample, "timings", lambda _: [row | {"p20_ms": 10.0} for row in narrow])
    assert doubt(wide) == ""


@pytest.mark.parametrize(("p20_ms", "expected"), [(6.7, ""), (6.5, "spread")])
def test_samples_that_spread_too_widely_say_little_of_a_time(ask, monkeypatch, p20_ms, expected):
    """Their 80th percentile is 13.2 ms."""
    wide = on_cpu()
    rows = [row | {"p20_ms": p20_ms} for row in wide.timings()]
    monkeypatch.setattr(Sample, "timings", lambda _: rows)
    assert doubt(wide) == expected
    if expected:
        _, text = ask("a", wide)
        assert remark(text) == (
            "※ In small, context 128 the unprofiled times of the forward pass spread too widely, "
            "the 80th percentile over 2 times the 20th: the machine was probably busy during "
            f"the benchmark, and times without and with the profiler can't be compared. {AGAIN}"
        )
        assert "can't be compared" in short(text)


@pytest.mark.parametrize(("host", "busy"), [(12.6, 13.0), (10.0, 9.0)])
def test_a_gpu_is_never_doubted(host, busy):
    assert doubt(on_cpu(host, busy, BUSY, device="cuda")) == ""


def test_a_calm_cpu_says_its_shares_and_nothing_of_doubts(ask):
    answer, text = ask("a", on_cpu(), on_cpu(context=256))
    assert "within 10 % in both cases" in short(text) and "12.0 ms (95 %)" in text
    assert "※" not in text and not any(f.name == "load_average" for f in answer.facts)
    _, text = ask("f", on_cpu(), on_cpu(context=256))
    assert "up to 50.0 %" not in text and "5.0 % (idle time)" in short(text)
    assert "※" not in text


def test_of_a_busy_case_a_says_no_comparison_but_its_load_and_how_to_measure_again(ask):
    answer, text = ask("a", on_cpu(host=80.0, busy=79.9, load=BUSY), on_cpu(context=256))
    assert short(text) == (
        "In fp32 the forward pass (small, context 256) takes 12.0 ms unprofiled and 12.6 ms under "
        "the profiler (+5.0 %): within 10 % they match. The two can't be compared in 1 of 2 "
        "cases, most likely because other work kept the machine busy (load 9.0 on 2 cores)."
    )
    assert remark(text) == (
        "※ Other work kept the machine busy (load 9.0 on 2 cores) while small, context 128 was "
        "measured, so that times without and with the profiler can't be compared there. " + AGAIN
    )
    assert "| 12.0 ms ※ | 12.0 ms (95 %) |" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| small") and "79.9" in line]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    none = "not comparable"
    assert cells[2:] == ["12.0", "80.0", none, "79.9", "80.0", none, "99.9 %", "\N{EN DASH}"]
    names = {fact.name for fact in answer.facts if fact.case == "small-ctx128-fp32"}
    assert {"load_average", "cpu_cores", "host_ms"} <= names
    assert not {"overhead", "working_share", "verdict"} & names


def test_where_all_cases_were_busy_the_highest_load_is_said_and_all_are_to_be_measured_again(ask):
    busy = [on_cpu(80.0, 79.9, BUSY), on_cpu(3.0, 2.0, 4.0, context=256)]
    _, text = ask("a", *busy)
    assert short(text) == (
        "The forward pass took 12.0 ms unprofiled; that and its time under the profiler can be "
        "compared in none of 2 cases, most likely because other work kept the machine busy (load "
        "up to 9.0 on 2 cores)."
    )
    assert remark(text).endswith(
        "To measure all cases again when nothing else runs: "
        "`snakemake --cores 1 report.md -R benchmark capture`."
    )
    _, text = ask("f", *busy)
    assert short(text) == (
        "Nothing can be said: the training step's times without and with the profiler can be "
        "compared in none of 2 cases, most likely because other work kept the machine busy (load "
        "up to 9.0 on 2 cores)."
    )
    assert "%" not in text.split("## Tables")[0]


def test_a_much_faster_profiled_time_is_no_finding(ask):
    _, text = ask("a", on_cpu(0.5, 0.4), on_cpu(context=256))
    assert "-95.8 %" not in text
    assert "small, context 128 the forward pass took less time under the profiler" in remark(text)
    _, text = ask("f", on_cpu(0.5, 0.4), on_cpu(context=256), on_cpu(context=512))
    assert "can't be compared in 1 of 3 cases" in short(text)
    assert "| 12.0 ms ※ |" in text


def test_operators_never_take_more_than_the_whole_unprofiled_time(ask):
    answer, text = ask("a", on_cpu(20.0, 15.8), on_cpu(context=256))
    assert "131.7 %" not in text and "| 12.0 ms ※ | 12.0 ms (95 %) |" in text
    assert (
        "In small, context 128 operators alone took longer under the profiler than the whole "
        "forward pass without it, because the profiler's cost is part of their time or the "
        "machine was busy then: no share of the unprofiled time is said there. " + AGAIN
    ) in remark(text)
    facts = {fact.name: fact.value for fact in answer.facts if fact.case == "small-ctx128-fp32"}
    assert facts["verdict"] == "slower_operators" and facts["overhead"] == pytest.approx(2 / 3)
    assert "In the one case that takes over 10 % longer" not in text


def test_shares_that_are_not_said_count_as_the_largest_in_a_median(ask):
    over = [on_cpu(13.0, 12.5, context=context) for context in (128, 256)]
    _, text = ask("a", *over, on_cpu(context=512))
    assert "of the time" not in text
    _, text = ask("a", over[0], on_cpu(context=512), on_cpu(busy=6.0, context=1024))
    assert "operators take a median of 95.0 % of the time" in text


def test_a_bound_above_the_whole_step_is_withheld_on_any_device(ask):
    step: list[Kernel] = [
        ("train_step/backward", "gemm_backward", "gemm", 4, 1_000_000),
        ("train_step/optimizer", "adamw", "optimizer", 4, 91_560_000),
    ]
    kernels = {"forward": FORWARD, "train_step": step}
    for device in ("cpu", "cuda"):
        impossible = on_cpu(93.0, 92.56, device=device, kernels=kernels)
        _, text = ask("f", impossible, on_cpu(context=256), on_cpu(context=512))
        assert "763" not in text and "| 12.0 ms ※ |" in " ".join(text.split())
        assert (
            "a part of the training step took longer under the profiler than all of it without"
        ) in remark(text)


def test_busy_cases_are_not_compared_with_each_other(ask):
    pair = [on_cpu(load=BUSY), on_cpu(precision="bf16", load=BUSY)]
    assert ask("f", *pair)[0].summary["tried"] == []
    calm = [on_cpu(), on_cpu(precision="bf16")]
    assert len(ask("f", *calm)[0].summary["tried"]) == 1


def test_the_busiest_machine_is_that_with_the_most_load_per_core():
    machines = [machine(BUSY), machine(16.0, cores=8), machine("")]
    rows = [{"case": str(n)} | each for n, each in enumerate(machines)]
    assert comparable.busiest(pd.DataFrame(rows)) == "load up to 9.0 on 2 cores"
    assert comparable.busiest(pd.DataFrame(rows[2:])) == comparable.busiest(pd.DataFrame()) == ""


def test_a_table_of_a_run_that_has_no_load_says_nothing_of_it():
    old = pd.DataFrame([{"case": "a", "warning": "busy (load 9.0 on 2 cores)", "cpu_cores": "2"}])
    assert comparable.load_of(old, "a") == {}
