"""Answer (f): what was measured to pay, and what each other remedy could save at most."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import FORWARD, Kernel, Sample, grid, write_tables
from workflow_src.answers import by_itself, levers
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import TableError, read_table
from workflow_src.answers.provenance import unsupported
from workflow_src.render.markdown import DASH

TEMPLATES = Path(__file__).parent.parent / "report_templates"
ATTENTION = "train_step/forward/block/attention"

STEP: list[Kernel] = [
    (f"{ATTENTION}/scores", "gemm", "gemm", 2, 4_000_000),
    (f"{ATTENTION}/scores", "scale_and_mask", "elementwise", 2, 1_000_000),
    (f"{ATTENTION}/softmax", "exp_kernel", "elementwise", 2, 2_000_000),
    (f"{ATTENTION}/softmax", "copy<bfloat16_copy>", "copy", 2, 500_000),
    (f"{ATTENTION}/values", "gemm", "gemm", 2, 3_000_000),
    ("train_step/backward", "gemm_backward", "gemm", 4, 19_500_000),
    ("train_step/optimizer", "mul", "elementwise", 4, 10_000_000),
]
"""40 ms of device time per step."""


def sample(median: float = 50.0, **others) -> Sample:
    """A case whose training step takes `median` ms unprofiled, 40 of them on the device."""
    phases = {"forward": FORWARD, "train_step": STEP}
    host = max(60.0, median)
    times = {phase: (host, 40.0, 55.0) for phase in ("forward", "forward_backward", "train_step")}
    return Sample(kernels=phases, median_ms=dict.fromkeys(times, median), times_ms=times, **others)


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("f", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def fact(answer: Answer, name: str, case: str) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    return " ".join(text.split("\n\n")[1].split())


def measured(text: str) -> list[list[str]]:
    """The cells of the table of what was measured."""
    lines = text[text.index("**Measured**") :].split("\n\n")[1].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_bounds_are_shares_of_the_unprofiled_step(ask):
    answer, _ = ask(sample())
    values = {key: fact(answer, f"{key}/share", sample().case) for key in ("idle", "optimizer")}
    assert values["idle"].value == pytest.approx(0.2)
    assert values["optimizer"].value == pytest.approx(0.2)
    assert fact(answer, "optimizer/ms", sample().case).rows
    # 1 + 2 ms beside the products, and in fp32 the copy, which is no cast there.
    assert fact(answer, "attention/ms", sample().case).value == pytest.approx(3.5)


def test_casts_count_in_a_lower_precision_only_and_then_not_as_attention(ask):
    answer, _ = ask(sample(precision="bf16"))
    case = sample(precision="bf16").case
    assert fact(answer, "casts/ms", case).value == pytest.approx(0.5)
    assert fact(answer, "attention/ms", case).value == pytest.approx(3.0)
    answer, _ = ask(sample())
    assert not [fact for fact in answer.facts if fact.name.startswith("casts")]


def test_attention_that_is_fused_already_has_nothing_to_save(ask):
    answer, text = ask(sample(attention="sdpa"))
    assert not [fact for fact in answer.facts if fact.name.startswith("attention")]
    assert "fused_softmax" not in text.split("## Tables")[0]


def test_work_that_exceeds_the_unprofiled_time_leaves_nothing_idle(ask):
    answer, text = ask(sample(median=30.0))
    assert fact(answer, "idle/ms", sample().case).value == 0
    (line,) = [line for line in text.splitlines() if line.startswith("| fp32 ")]
    assert line.split("|")[4].strip() == "0"


def test_one_case(ask):
    _, text = ask(sample())
    assert short(text) == (
        "No remedy was tried; of the training step each could save up to "
        "20.0 % (idle time) and 20.0 % (the optimizer)."
    )
    assert "| small" not in text.split("## Tables")[0], "no table by size and context"


def test_a_precision_that_was_measured_is_a_remedy_that_was_tried(ask):
    samples = [sample(), sample(context=256, median=100.0)]
    samples += [sample(precision="bf16", median=20.0), sample(80.0, context=256, precision="bf16")]
    _, text = ask(*samples)
    assert short(text).startswith(
        "Where the GPU works for less than 80 % of the training step (in 1 of 2 cases in fp32, "
        "in 1 of 2 cases in bf16), fewer launches come first. A lower precision pays elsewhere: in "
        "the one case in which the GPU works for at least 80 % of each step, a training step takes "
        "40.0 % as long with bf16 as with fp32. "
    )
    assert measured(text) == [
        ["bf16 in place of fp32", "at least 80 % of both", "1", "40.0 %",
         *["40.0 % (small, context 128)"] * 2, "0"],
        ["", "less of one, or of both", "1", "80.0 %", *["80.0 % (small, context 256)"] * 2, "0"],
        ["", "its own work alone", "2", "100.0 %", *[DASH] * 3],
    ]  # fmt: skip


def test_what_pays_most_is_judged_over_the_cases_of_all_rivals(ask):
    """Of all cases bf16 has the better median, of those that tf32 has too it doesn't."""
    samples = [
        sample(),
        sample(precision="bf16", median=30.0),
        sample(precision="tf32", median=25.0),
    ]
    samples += [sample(context=256, median=100.0)]
    samples += [sample(context=256, precision="bf16", median=20.0)]
    _, text = ask(*samples)
    assert (
        "A lower precision pays elsewhere: in the one case in which the GPU works for at least "
        "80 % of each step, a training step takes 50.0 % as long with tf32 as with fp32, 60.0 % "
        "with bf16."
    ) in short(text)


def test_what_pays_alike_is_not_ranked(ask):
    samples = [
        sample(),
        sample(precision="bf16", median=25.1),
        sample(precision="tf32", median=25.0),
    ]
    assert short(ask(*samples)[1]).startswith(
        "A lower precision pays: in the one case in which the GPU works for at least 80 % of each "
        "step, a training step takes 50.0 % as long with tf32 as with fp32, 50.2 % with bf16. What"
    )


def test_what_pays_more_in_the_median_alone_is_not_said_to_pay_most(ask):
    """Samples are 95 to 110 % of a median: those of 24 and 25 ms overlap, of 30 and 50 don't."""
    samples = [sample(context=context) for context in (128, 256, 512)]
    for tf32, bf16, context in ((24.0, 25.0, 128), (24.0, 25.0, 256), (50.0, 30.0, 512)):
        samples += [sample(precision="tf32", median=tf32, context=context)]
        samples += [sample(precision="bf16", median=bf16, context=context)]
    answer, text = ask(*samples)
    assert short(text).startswith(
        "A lower precision pays: in the 3 cases in which the GPU works for at least 80 % of each "
        "step, a training step takes a median of 48.0 % as long with tf32 as with fp32, 50.0 % "
        "with bf16. Which of tf32 and bf16 takes less isn't shown: tf32's step is the shorter in 0 "
        "and bf16's in 1 of 3 by more than their processes, or one process's samples, differ. The "
        "GPU's own work takes a median of 100.0 % as long with bf16 as with tf32 (less in 0 of 3 "
        "cases)."
    )
    assert not unsupported(text, answer.as_dict())


def test_what_no_case_has_both_of_is_not_ranked(ask):
    samples = [sample(), sample(precision="bf16", median=25.0)]
    samples += [sample(context=256), sample(context=256, precision="tf32", median=20.0)]
    _, text = ask(*samples)
    assert (
        "Which of tf32 and bf16 takes less isn't shown: no case has both on one kind of host."
    ) in short(text)
    assert "The GPU's own work" not in text


def test_what_makes_a_step_slower_is_said_to(ask):
    _, text = ask(sample(), sample(precision="bf16", median=55.0))
    assert (
        "Nothing that the cases vary pays: a training step takes 110.0 % as long with bf16 as with "
        "fp32."
    ) in short(text)
    assert measured(text)[0][3:] == ["110.0 %", *["110.0 % (small, context 128)"] * 2, "1"]


def test_cases_that_wait_for_launches_are_counted(ask):
    _, text = ask(replayed(42.0, median=90.0), sample(context=256))
    assert short(text).startswith(
        "Where the GPU works for less than 80 % of the training step (in 1 of 2 cases), fewer "
        "launches come first: replaying forward + backward by itself as a CUDA graph saves 53.3 % "
        "of the step's time there."
    )
    assert "| 90.0 ms: 56 % idle ¶ |" in text and "¶" not in ask(sample(), sample(context=256))[1]


def test_on_a_cpu_operators_take_the_place_of_kernels(ask):
    _, text = ask(sample(median=90.0, device="cpu"), sample(device="cpu", context=256))
    assert short(text).startswith("Where operators run for less than 80 % of the training step")
    assert "fewer operators come first." in short(text) and "GPU" not in text
    assert "Backward's operators belong to no component" in text
    assert "CUDA graph" not in text and "fewer operators: torch.compile" in text


def test_a_step_that_ran_out_of_memory_is_listed(ask):
    oom = sample(context=256, status={"train_step": ("oom", "CUDA out of memory")})
    answer, text = ask(sample(), oom)
    assert answer.status == "complete"
    assert "- Out of memory: small-ctx256-fp32." in text


def test_without_a_training_step_nothing_is_said(ask):
    answer, text = ask(sample(status={"train_step": ("oom", "CUDA out of memory")}))
    assert (answer.status, short(text)) == (
        "missing", "No training step was measured, so nothing can be said."
    )  # fmt: skip


def replayed(ms: float, **others) -> Sample:
    """Forward + backward takes 50 ms, and `ms` as a replayed graph."""
    return sample(replayed_ms={"forward_backward": ms}, **others)


BY_ITSELF = "the same, of forward + backward by itself"


def test_what_a_replay_was_measured_to_save_stands_below_the_bound(ask):
    answer, text = ask(replayed(42.0), replayed(46.0, context=256), sample(precision="bf16"))
    case = sample().case
    share = fact(answer, "replay/share", case)
    assert share.value == pytest.approx(0.16)
    assert share.derived_from == ("replay/ms", "train_step/median_ms")
    assert fact(answer, "replay/ms", case).derived_from == (
        "forward_backward/median_ms", "forward_backward/replayed_median_ms"
    )  # fmt: skip
    assert fact(answer, "forward_backward/replayed_median_ms", case).rows == (3,)
    table = text[text.index("| what could be saved") :].splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:4]] for line in table[2:5]] == [
        ["time in which the device is idle", "20.0 %", "20.0 %"],
        [f"{BY_ITSELF}, in the replayed cases alone (2 in fp32)", "20.0 %", "\N{EN DASH}"],
        ["launches of forward + backward by itself, measured", "12.0 %", "\N{EN DASH}"],
    ]
    assert "a CUDA graph, replayed in the benchmark" in table[4]
    assert "more than all idle time" not in text and "A step can be idle" not in text
    assert "**Bounded**, and measured only where the table says so:" in text
    assert not unsupported(text, answer.as_dict())


def test_where_all_cases_were_replayed_none_are_told_apart(ask):
    _, text = ask(replayed(42.0), replayed(46.0, context=256))
    table = text[text.index("| what could be saved") :].splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:3]] for line in table[2:5]] == [
        ["time in which the device is idle", "20.0 %"],
        [BY_ITSELF, "20.0 %"],
        ["launches of forward + backward by itself, measured", "12.0 %"],
    ]
    assert "replayed cases alone" not in text


def test_a_replay_that_saves_more_than_idle_time_is_explained(ask):
    answer, text = ask(replayed(36.0), replayed(39.0, context=256), replayed(46.0, context=512))
    assert (
        "In 2 of 3 cases the replay saved more than all idle time of forward + backward, most in "
        "small, context 128 (28.0 % of the step against 20.0 %): it took less time than the "
        "device's work did under the profiler" in text
    )
    assert not unsupported(text, answer.as_dict())


def test_a_replay_that_saved_more_than_the_step_is_idle_stands_beside_that_bound(ask):
    _, text = ask(replayed(36.0))
    assert (
        "each could save up to 20.0 % (idle time; forward + backward by itself saved 28.0 % when "
        "replayed) and 20.0 % (the optimizer)."
    ) in short(text)


def test_idle_time_that_forward_and_backward_by_itself_lacks_is_told_apart(ask):
    """A replay of forward + backward can't show what it would save of that."""
    idle = replayed(42.0, median=80.0)
    idle = replace(idle, median_ms=idle.median_ms | {"forward_backward": 44.0})
    answer, text = ask(idle, replayed(42.0, context=256))
    assert fact(answer, "by_itself/share", sample().case).value == pytest.approx(4 / 80)
    assert (
        "A step can be idle for longer than forward + backward by itself: in small, context 128 "
        "for 50.0 % of its time against 5.0 %." in text
    )
    assert not unsupported(text, answer.as_dict())


def test_a_replay_without_a_capture_has_no_idle_time(tmp_path: Path):
    timings = read_table(write_tables(tmp_path, replayed(42.0)), "timings")
    timed = timings[timings["phase"] == "forward_backward"]
    found = by_itself.measure(timed, pd.DataFrame())
    assert found["saved_ms"] == pytest.approx(8.0)
    assert by_itself.shares(found, 50.0) == {"replay_share": pytest.approx(0.16)}


def test_cases_of_different_hosts_are_not_compared(ask):
    """On another host a launch-bound step takes another time for no change of its own."""
    hosts = {"fp32": {128: 64, 256: 64}, "bf16": {128: 64, 256: 16}}
    samples = [
        sample(ms, precision=precision, context=context, environment={"cpu_cores": cores})
        for (precision, at), ms in zip(hosts.items(), (200.0, 160.0), strict=True)
        for context, cores in at.items()
    ]
    _, text = ask(*samples)
    assert (
        "fewer launches come first. A lower precision pays: a training step takes 80.0 % as long "
        "with bf16 as with fp32."
    ) in short(text)
    assert measured(text)[0][1:4] == ["less of one, or of both", "1", "80.0 %"]
    assert measured(text)[1][1:4] == ["its own work alone", "2", "100.0 %"]
    assert "on one kind of host only (1 pair left out)." in text
    _, apart = ask(*(each for each in samples if each.context == 256))
    assert "in place of" not in apart


@pytest.mark.parametrize(
    ("speeds", "compared"),
    [
        ({"host_launch_us_before": 4.3, "host_operation_us_before": 7.0}, True),
        ({"host_launch_us_before": 4.5, "host_operation_us_before": 7.0}, False),
        ({"host_launch_us_before": 4.0, "host_operation_us_before": 9.0}, False),
        ({"host_launch_us_before": 4.0}, True),
        ({}, True),
    ],
)
def test_steps_that_wait_are_compared_only_on_equally_fast_hosts(ask, speeds, compared):
    first = {"cpu_cores": 16, "host_launch_us_before": 4.0, "host_operation_us_before": 7.0}
    samples = [
        sample(ms, precision=precision, environment=environment)
        for precision, environment, ms in (
            ("fp32", first, 200.0),
            ("bf16", {"cpu_cores": 16} | speeds, 160.0),
        )
    ]
    _, text = ask(*samples)
    assert ("| bf16 in place of fp32 | less of one, or of both | 1 |" in text) == compared
    if compared:
        kind = "equally fast hosts of one kind" if speeds else "one kind of host"
        assert f"compared on {kind} only." in text


def test_a_throttled_extreme_is_marked(ask):
    samples = [
        sample(50.0),
        sample(25.0, precision="bf16", environment={"warning": "throttled (power cap)"}),
    ]
    assert "50.0 % (small, context 128; throttled)" in ask(*samples)[1]


def test_a_step_that_waits_shows_its_largest_bound_whatever_that_is(ask):
    """Of 52 ms the device is idle for 12, and the optimizer takes 20."""
    step = [*STEP[:-2], ("train_step/optimizer", "mul", "elementwise", 4, 20_000_000)]
    slow = sample(52.0, context=256)
    slow = replace(slow, kernels=slow.kernels | {"train_step": step})
    _, text = ask(sample(52.0), slow)
    assert "52.0 ms: 23 % idle ¶" in text and "52.0 ms: 38 % optimizer ¶" in text
    assert "Of those, idle time is not the largest in small, context 256:" in text
    assert "fewer launches come first (in 1 of these 2 cases the optimizer, by the bounds" in text


def test_steps_that_do_not_wait_are_compared_whatever_their_hosts(ask):
    samples = [
        sample(ms, precision=precision, environment={"cpu_cores": cores})
        for precision, cores, ms in (("fp32", 64, 50.0), ("bf16", 16, 25.0))
    ]
    assert measured(ask(*samples)[1])[0][1:4] == ["at least 80 % of both", "1", "50.0 %"]


def test_a_replay_is_a_remedy_that_was_tried(ask):
    _, text = ask(replayed(42.0))
    assert short(text).startswith("Besides a replay, no remedy was tried; of the training step")


def test_without_a_replay_nothing_is_said_to_be_measured(ask):
    failed = {"forward_backward": ("oom", "CUDA out of memory")}
    for one in (sample(), sample(not_replayed=failed)):
        _, text = ask(one)
        assert "by itself" not in text and "**Not measured**, but bounded:" in text


def test_a_grid_is_answered_for_each_precision(ask):
    answer, text = ask(*grid())
    assert answer.status == "complete"
    assert all(f" in {precision}" in short(text) for precision in ("fp32", "tf32", "bf16"))


# --- the study levers


def lever(variant: str, ms: float, remedies: str = "", **others) -> dict:
    """A training step of the study's table; the plain step takes 100 ms."""
    row = {"case": "small-ctx128-bf16", "size": "small", "context": 128, "precision": "bf16"}
    row |= {"variant": variant, "remedies": remedies, "phase": "train_step", "status": "ok"}
    return row | {"median_ms": ms, "saving_share": 1 - ms / 100} | others


LEVERS = [
    lever("compile", 60.0, "compile"),
    lever("fused", 104.0, "fused"),
    lever("plain", 100.0),
    lever("sdpa", 80.0, "sdpa"),
    lever("then_fused", 75.0, "sdpa+fused"),
    lever("then_graph", 25.0, "sdpa+fused+graph"),
    lever("graph", 1.0, "graph", status="oom", median_ms=None, saving_share=None),
    lever("compile", 1.0, "compile", phase="forward"),
]


@pytest.fixture
def with_levers(tmp_path):
    def asked(rows: list[dict]) -> tuple[Answer, str]:
        folder = write_tables(tmp_path, sample())
        (folder / "studies").mkdir(exist_ok=True)
        pd.DataFrame(rows).to_csv(folder / "studies" / "levers.csv", index=False)
        return answer_question("f", folder, TEMPLATES)

    return asked


def test_what_the_study_levers_measured_is_said_first(with_levers):
    answer, text = with_levers(LEVERS)
    assert short(text).startswith(
        "In the study levers' own runs, in small, context 128, bf16 torch.compile, one of 3 tried "
        "alone, saves 40.0 % of the training step; "
        "sdpa, fused AdamW and a CUDA graph together 75.0 % (100 to 25.0 ms). "
        "Over all cases, by bounds estimated from each one's profile, remedies could save "
        "up to 20.0 % of the step (idle time)"
    )
    case = "small-ctx128-bf16"
    timed = fact(answer, "levers/then_graph/median_ms", case)
    assert (timed.table, timed.rows, timed.value) == ("studies/levers", (7,), 25.0)
    assert fact(answer, "levers/compile/share", case).derived_from == (
        "levers/plain/median_ms", "levers/compile/median_ms"
    )  # fmt: skip
    assert not unsupported(text, answer.as_dict())


def test_of_many_cases_of_the_study_the_short_answer_names_two(with_levers):
    rows = [
        lever(row["variant"], row["median_ms"], row["remedies"]) | {
            "case": f"small-ctx{128 * at}-bf16", "context": 128 * at,
            "saving_share": row["saving_share"] / at,
        }
        for at in (1, 2, 3)
        for row in LEVERS[:6]
    ]  # fmt: skip
    answer, text = with_levers(rows)
    assert "Of 3 cases of the study levers, most is saved in small, context 128" in short(text)
    assert "Least is saved in small, context 384, bf16: torch.compile, one of 3 tried" in short(
        text
    )
    assert "- **small, context 256, bf16**: " in text
    assert not unsupported(text, answer.as_dict())


def test_cases_are_ranked_by_the_most_that_they_save_whether_by_one_remedy_or_several():
    def case(alone: float, together: float) -> dict:
        return {"first": {"share": alone}, "best": {"share": together}}

    cases = [case(0.2, 0.3), case(0.6, 0.1), case(0.4, 0.5)]
    assert levers.in_short(cases) == [cases[1], cases[0]]


def test_remedies_that_save_nothing_are_not_recommended(with_levers):
    _, text = with_levers([lever("plain", 100.0), lever("fused", 104.0, "fused")])
    said = "in small, context 128, bf16 no remedy that was tried makes the training step shorter."
    assert short(text).startswith(f"In the study levers' own runs, {said}")
    _, text = with_levers([lever("compile", 60.0, "compile")])
    assert short(text).startswith("No remedy was tried"), "without a plain step"


def test_neither_broken_gradients_nor_more_batches_are_recommended(with_levers):
    sound = {"batches": 1, "error_state": "ok", "gradients_error": 0.03}
    rows = [
        lever("plain", 100.0, **sound),
        lever("compile", 60.0, "compile", **sound | {"gradients_error": None}),
        lever("batch_x2", 50.0, "batch_x2", **sound | {"batches": 2}),
        lever("sdpa", 80.0, "sdpa", **sound),
        lever("graph", 70.0, "graph", **sound | {"error_state": "oom", "gradients_error": None}),
        lever("then_compile", 20.0, "sdpa+compile", **sound | {"gradients_error": None}),
    ]
    answer, text = with_levers(rows)
    assert (
        "runs, in small, context 128, bf16 a CUDA graph, one of 3 tried alone, saves 30.0 %"
        in short(text)
    )
    assert (
        "written out plainly: see above. Left out because gradients are not finite with it: "
        "torch.compile, sdpa and torch.compile in small, context 128, bf16." in text
    )
    assert "twice the batch" not in text
    assert fact(answer, "levers/graph/median_ms", "small-ctx128-bf16").rows == (6,)


def test_a_single_remedy_stands_with_its_times(with_levers):
    _, text = with_levers([lever("plain", 100.0), lever("sdpa", 80.0, "sdpa")])
    assert "sdpa alone saves 20.0 % of the training step (100 to 80.0 ms)." in short(text)


def test_a_damaged_table_of_the_study_is_refused(with_levers):
    with pytest.raises(TableError, match="no column context, precision, variant"):
        with_levers([{"case": "a", "size": "small"}])
    with pytest.raises(TableError, match=r"levers.csv is not a study's table \(Unable to parse"):
        with_levers([*LEVERS, lever("sdpa", 80.0, "sdpa", saving_share="abc")])


def test_bounds_name_the_study_that_tries_what_a_suite_can_not(ask):
    _, text = ask(sample(precision="bf16"))
    assert "can't try yet" not in text and text.count("tried by the study levers") == 2
