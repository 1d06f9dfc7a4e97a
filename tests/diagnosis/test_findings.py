"""What is found to be wrong with training loops made by hand, and what each fault costs."""

from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.device_steps import found as places_of
from tests.diagnosis.programs import (
    ACTIVATION,
    PAGEABLE,
    PINNED,
    PRODUCT,
    TO_DEVICE,
    TO_HOST,
    Place,
    Program,
    training_loop,
)
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.finding import MECHANISMS, Finding
from workflow_src.diagnosis.subject import Subject
from workflow_src.diagnosis.words import headline
from workflow_src.placing.attributed import attributed
from workflow_src.tables.diagnosis_tables import COLUMNS, diagnosis_tables


def subject(folder: Path, **loop: Any) -> Subject:
    return Subject.of(training_loop(folder, **loop).attributed(), 1)


def diagnosed(program: Program, plain_ns: float | None = None) -> Diagnosis:
    return diagnose(Subject.of(program.attributed(), 1), plain_ns)


def specific(diagnosis: Diagnosis) -> list[str]:
    return [each.key for each in diagnosis.findings if not each.general]


def sleeps(microseconds: float, *steps: int) -> Place:
    """The host does something else for a while, in these steps or in all."""

    def sleep(program: Program, step: int) -> None:
        program.now += microseconds if not steps or step in steps else 0

    return sleep


def launches(*names: str, takes: float | None = 1, thread: int = 1, pause: float = 0) -> Place:
    """Kernels one after another, before each of which the host does something else."""

    def launch(program: Program, step: int) -> None:
        for name in names:
            program.now += pause
            program.launch(name, takes=takes, thread=thread)

    return launch


def calls(name: str, cost: float, *steps: int) -> Place:

    def call(program: Program, step: int) -> None:
        if not steps or step in steps:
            program.call(name, cost=cost)

    return call


def copies(
    kind: int, size: int, memory: int, takes: float = 1, waits: bool = True, only: int = -1
) -> Place:

    def copy(program: Program, step: int) -> None:
        if only in (-1, step):
            program.copy(kind, size, memory, takes, waits)

    return copy


def fetches(size: int, *kernels: str) -> Place:
    return in_turn(launches(*kernels), copies(TO_HOST, size, PINNED))


def in_turn(*places: Place) -> Place:
    def all_of(program: Program, step: int) -> None:
        for place in places:
            place(program, step)

    return all_of


def times(count: int, place: Place) -> Place:
    return in_turn(*[place] * count)


def after(long: float, then: Place) -> Place:
    return in_turn(launches(ACTIVATION, takes=long), then)


def softmax(name: str, thread: int = 1) -> Place:
    kernel = f"void cunn_{name}<4, float, float, float, {name}Epilogue>"
    return launches(kernel.replace("cunn_Log", "cunn_"), thread=thread)


def forward(program: Program, step: int) -> None:
    program.forward()


def evaluates(program: Program, step: int) -> None:
    with program.inside("evaluation"):
        program.forward()


def waits(program: Program, step: int) -> None:
    program.synchronize("cudaDeviceSynchronize")


SELECTS = in_turn(
    fetches(4, "cub::DeviceReduceSingleTileKernel"), launches("cub::DeviceSelectSweepKernel")
)
SCALES_SELECTED = in_turn(
    SELECTS, launches("vectorized_gather_kernel", ACTIVATION, "index_elementwise_kernel")
)
"""What is selected is read, scaled and written back; scaling isn't of the selection."""

LOSS, ITS_GRADIENT = softmax("LogSoftMaxForward"), softmax("LogSoftMaxBackward", thread=2)
CHOICE = launches("reduce_kernel<ReduceOp<float, ArgMaxOps<float>>>")
GRADIENT_OF_SELECTED = launches(
    ACTIVATION, "FillFunctor", "vectorized_elementwise_kernel<AddFunctor<long>>",
    "DeviceRadixSort", "indexing_backward_kernel", thread=2,
)  # fmt: skip
"""Autograd fills, computes indices, sorts these and adds to what they say."""

CAST = "unrolled_elementwise_kernel<direct_copy_kernel_cuda lambda({})>"
DOUBLE = "vectorized_elementwise_kernel<MulFunctor<double>>"
FREES, ALLOCATES = calls("cudaFree_v3020", 300), calls("cudaMalloc_v3020", 300)
SAVES = copies(TO_HOST, 10**6, PAGEABLE, takes=4000, only=2)


def updates(*operations: str) -> Place:
    return launches(*(f"vectorized_elementwise_kernel<{each}>" for each in operations), takes=2)


FAULTS: list[tuple[str, str, float, dict[str, Place]]] = [
    # The host waits for work of 400 us from the copy, or the wait itself, 60 us after its launch.
    ("item", "step/forward", 350, {"forward": after(400, fetches(4))}),
    # Without five calls: the count, the copy and its wait, which ends 470 after, the selection.
    ("selection", "step/forward", 470, {"forward": after(400, SELECTS)}),
    # Without the same five calls, two kernels by index, and four of the gradient of the first; with
    # more such gradients than are read by a selection, others are among them.
    ("selection", "step/forward", (5 + 2 + 4) * 60,
     {"forward": SCALES_SELECTED, "backward": GRADIENT_OF_SELECTED}),
    ("selection", "step/forward", (5 + 2) * 60,
     {"forward": SCALES_SELECTED, "backward": times(2, GRADIENT_OF_SELECTED)}),
    # Four kernels find what differs before the host learns how much: six calls.
    ("selection", "step/forward", 6 * 60, {"forward": fetches(
        8, "DeviceRadixSort", "adjacent_difference", "DeviceScan", "DeviceSelectSweep")}),
    ("synchronize", "step/forward", 350, {"forward": after(400, waits)}),
    # Each takes a gap and a call for the kernel, the copy and the wait.
    ("number_of_each_tensor", "step", 10 * 3 * 60,
     {"end": times(10, fetches(4, "reduce_kernel<Norm>"))}),
    ("number_of_each_tensor", "step/forward", 8 * 4 * 60,
     {"every": times(2, fetches(1, "vectorized_elementwise_kernel<isnan>", "reduce_kernel<any>"))}),
    # A copy and a wait, and the host's gaps before both.
    ("host_scalars", "step/forward", 4 * 125, {"every": copies(TO_DEVICE, 4, PAGEABLE)}),
    ("pageable_batch", "step/data", 800, {"data": copies(TO_DEVICE, 10**6, PAGEABLE, 800)}),
    ("blocking_save", "step", 1000, {"end": SAVES}),
    # What it writes, too, whose gap is before the next step's first call.
    ("blocking_save", "step", 2000, {"end": in_turn(SAVES, sleeps(4000, 2))}),
    ("data_to_host", "step", 2000, {"end": copies(TO_HOST, 10**6, PAGEABLE, 2000)}),
    ("slow_loader", "step/data", 4000, {"data": sleeps(4000)}),
    ("host_gap", "step/clip", 4000, {"clip": sleeps(4000)}),
    # Nothing says that a step begins with a batch, or that a range holds layers: one of nine
    # launches that are alike, in one range, comes late.
    ("host_gap", "step", 4000, {"begin": sleeps(4000)}),
    ("host_gap", "step", 2000, {"end": in_turn(
        launches(*["reduce_kernel"] * 5, takes=None), sleeps(2000),
        launches(*["reduce_kernel"] * 4, takes=None))}),
    ("host_gap", "step/forward/block.2", 2000, {"block2": sleeps(2000)}),
    # Steps 1 to 4 count, of which two stall.
    ("stall", "step", 2000, {"end": sleeps(4000, 1, 3)}),
    ("parameter_by_parameter", "step/optimizer", 29 * 60,
     {"update": times(10, updates("lerp", "addcmul", "addcdiv"))}),
    ("parameter_by_parameter", "step/optimizer", 29 * 60,
     {"update": times(15, updates("mul", "add"))}),
    # Both casts, of which the second's name has the result's type, go with the host's time before
    # them; the arithmetic's launch stays.
    ("float64", "step/forward", 2 * 60,
     {"forward": launches(CAST.format("double"), DOUBLE, CAST.format("float"))}),
    ("empty_cache", "step", 600, {"end": FREES, "block2": ALLOCATES}),
    ("empty_cache", "step/forward/block.2", 600, {"block2": in_turn(FREES, ALLOCATES)}),
    ("small_collectives", "step", 9 * 60,
     {"end": launches(*["ncclDevKernel_AllReduce_Sum_f32_RING_LL"] * 10, takes=10)}),
    ("forward_twice", "step/forward", 9 * 60, {"forward": forward}),
    ("forward_twice", "step/evaluation", 9 * 60, {"end": evaluates}),
    # A choice, and a softmax beside the loss's, which has a gradient; not the loss.
    ("metrics", "step/forward", 3 * 60, {
        "forward": in_turn(LOSS, softmax("SoftMaxForward"), CHOICE, CHOICE),
        "backward": ITS_GRADIENT}),
    ("metrics", "step/forward", 2 * 60, {
        "forward": in_turn(softmax("LogSoftMaxForward"), CHOICE, LOSS), "backward": ITS_GRADIENT}),
    ("recomputation", "step/backward", 8 * 60,
     {"backward": launches(*[PRODUCT, ACTIVATION] * 4, takes=None, thread=2)}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "where", "saves_us", "faults"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_fault_is_named_first_with_what_it_costs(
    tmp_path: Path, key: str, where: str, saves_us: float, faults: dict[str, Place]
) -> None:
    diagnosis = diagnosed(training_loop(tmp_path, **faults))
    assert diagnosis.understood
    first = diagnosis.findings[0]
    assert (first.key, first.where) == (key, where)
    assert 1000 * first.saves_ms == pytest.approx(saves_us, rel=0.15)
    assert specific(diagnosis) == [key]


SHORT = "softmax_warp_forward<float, float, float, (int)11, (bool)1, (bool)0>"
LONG_GAPS = in_turn(
    launches(*"abc", takes=None, pause=1200), launches("reduce_kernel d", takes=None, pause=4000)
)


NO_FAULTS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "a clean program": ([], {}),
    "a clean program whose device sets the pace": ([], {"takes": 200}),
    # The device takes 27 * 201 us of a step, the host with its loader 27 * 60 + 3,500.
    "what the device hides": ([], {"takes": 200, "data": sleeps(3500)}),
    "what is done with fetched data is no loader, though a batch is sent next": (
        ["host_gap", "data_to_host"],
        {"begin": copies(TO_DEVICE, 10**6, PINNED, waits=False),
         "end": in_turn(copies(TO_HOST, 10**6, PAGEABLE, 1000), sleeps(4000))}),
    # As before each pass of a model that makes an image, after its words were sent.
    "many gaps of which one comes before a copy are no loader": (
        ["host_gap"],
        {"forward": in_turn(launches(*"abc", takes=None, pause=4000), sleeps(4000),
                            copies(TO_DEVICE, 1000, PINNED, waits=False))}),
    # The forward kernel of short rows may have a gradient of another kind.
    "softmaxes with gradients are no metrics": (
        [], {"forward": in_turn(LOSS, launches(SHORT)), "backward": times(2, ITS_GRADIENT)}),
    "comparisons of each parameter are no updates": (
        [], {"update": times(30, updates("CompareEqFunctor<float>"))}),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_FAULTS)
def test_what_is_no_fault_is_not_named(tmp_path: Path, name: str) -> None:
    keys, loop = NO_FAULTS[name]
    assert specific(diagnosed(training_loop(tmp_path, **loop))) == keys


def test_a_gap_as_long_as_the_longest_of_another_range_is_none(tmp_path: Path) -> None:
    # Backward has long gaps of 1.2 ms, most of them, and of 4 ms, as clip has.
    of = subject(tmp_path, backward=LONG_GAPS, clip=sleeps(4000))
    assert not places_of("host_gap", of)


@pytest.mark.parametrize(("every", "steps"), [(7, 5), (57, 20)])
def test_a_host_that_is_kept_from_running_is_named(tmp_path: Path, every: int, steps: int) -> None:
    # Of 27 calls a step every seventh, or 57th, is held up for 1 ms, so each time other ones.
    program = training_loop(tmp_path, steps=steps, stretched=every)
    first = diagnosed(program).findings[0]
    assert first.key == "other_thread"
    assert first.saves_ms == pytest.approx(program.held / 1000 / steps, rel=0.1)


@pytest.mark.parametrize("long", [20_000, 5000])
def test_a_loader_is_told_from_shorter_large_gaps_of_the_range_that_comes_next(
    tmp_path: Path, long: float
) -> None:
    # Forward has three gaps of 1.2 ms, which are large beside 55 us.
    gaps = launches(*"abc", takes=None, pause=1200)
    diagnosis = diagnosed(training_loop(tmp_path, data=sleeps(long), forward=gaps))
    named = [each for each in diagnosis.findings if each.key == "slow_loader"]
    assert [(each.where, each.told["in_steps"]) for each in named] == [("step/data", 5)]
    assert named[0].saves_ms == pytest.approx(long / 1000, rel=0.02)


def waits_for_batch(program: Program, step: int) -> None:
    """Torch waits for a batch in its own range, in every other step for 9 ms.

    Of five steps, four are from a step to the next.
    """
    with program.inside("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        program.now += 9000 if step % 2 else 0


def test_a_loader_that_is_late_in_some_steps_is_no_stall(tmp_path: Path) -> None:
    # The mean is of the steps 1 to 4, two of which are late.
    first = diagnosed(training_loop(tmp_path, begin=waits_for_batch)).findings[0]
    assert (first.key, first.told["calls"], first.told["in_steps"]) == ("slow_loader", 1, 2)
    assert first.host_ms == pytest.approx(2 * 9 / 4, rel=0.01)


def test_launches_set_the_pace_of_small_kernels_alone(tmp_path: Path) -> None:
    (only,) = diagnosed(training_loop(tmp_path, takes=3)).findings
    assert only.key == "launch_bound"
    # Of 27 launches of 60 us a step, a gap and a call remain; the kernels take 4 each, one by one.
    assert only.saves_ms == pytest.approx((27 * 60 - 60 - 27 * 4) / 1000, rel=0.1)


TOLD = {"calls": 1, "in_steps": 1, "of_steps": 1, "also_in": ""}


def test_each_mechanism_has_a_headline() -> None:
    for key in MECHANISMS:
        finding = Finding(key, "step/a", 1, 1, (), {**TOLD, "late": 1, "late_ms": 1.0}, saves_ms=1)
        filled = headline(finding, 3, True)
        assert len(filled.split()) <= 45, filled


def test_what_some_steps_have_is_told_and_what_the_first_alone_has_is_not(tmp_path: Path) -> None:
    saves = times(2, copies(TO_HOST, 500_000, PAGEABLE, 800, only=3))
    both = in_turn(saves, copies(TO_HOST, 4, PINNED, only=0))
    tables = diagnosis_tables(training_loop(tmp_path, end=both).attributed())
    first = tables["findings"].iloc[0]
    assert first[["mechanism", "in_steps", "of_steps", "calls"]].tolist() == [
        "blocking_save", 1, 5, 2
    ]  # fmt: skip
    assert first["headline"].startswith(
        "In 1 of 5 steps data is copied to the host in `step`, 2 times each, and the host waits "
    )
    assert first["example"].startswith("[CUDA memcpy")
    assert tables["smaller"].empty


def test_a_finding_takes_what_it_takes_in_the_steps_that_its_saving_is_of(tmp_path: Path) -> None:
    # Of five steps the first has no loader, and the mean is of the four after it.
    program = training_loop(tmp_path, data=sleeps(4000, 1, 2, 3, 4))
    overview = diagnosis_tables(program.attributed())
    loader, step = overview["findings"].iloc[0], overview["diagnoses"].iloc[0]
    assert loader["mechanism"] == "slow_loader"
    assert step["host_ms"] == pytest.approx(4 + 27 * 0.06, abs=0.03)
    assert (loader["calls"], loader["in_steps"], loader["of_steps"]) == (1, 4, 5)
    assert loader["host_ms"] == pytest.approx(loader["saves_ms"]) == pytest.approx(4, rel=0.01)
    # 27 launches of 60 us and the sleep: without it the device's 27 * 36 us are left, and of the
    # launches' what goes beyond.
    parts = [step[f"{name}_ms"] for name in ("named", "device_left", "launching", "unnamed")]
    assert parts == pytest.approx([4, 27 * 0.036, 27 * 0.024, 0], abs=0.06)
    assert sum(parts) == pytest.approx(step["step_ms"]) and step["pace"] == "the host"
    assert step["launches"] == 27


def test_nothing_is_found_in_steps_of_a_capture_without_device_work(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for _ in range(3):
        with program.inside("step"):
            program.call("cudaEventRecord", cost=10)
    assert not diagnose(Subject.of(attributed(program.read(), None, step="step"), 1)).findings


def test_a_process_without_steps_has_no_rows_but_one_that_says_so(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.launch()
    tables = diagnosis_tables(program.attributed())
    assert {name for name in COLUMNS if len(tables[name])} == {"diagnoses"}
    assert tables["diagnoses"]["problem"].iloc[0].startswith("process 1 has no steps")
