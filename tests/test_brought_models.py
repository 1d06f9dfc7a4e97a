"""Brought models, measured and captured on a CPU: ranges, operators, FLOPs, laws; bad functions."""

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml

from tests.joined import check, joined
from tests.test_nsys import requires_nsys
from workflow_src.captures.export_case import export
from workflow_src.common.case import PHASES, Brought
from workflow_src.common.errors import StageError
from workflow_src.measure.benchmark import benchmark, measure
from workflow_src.measure.brought import batch_size
from workflow_src.measure.capture import capture
from workflow_src.measure.module_ranges import named_modules
from workflow_src.measure.profiled_run import profiled_run
from workflow_src.measure.workload import Workload
from workflow_src.placing.case_capture import read_case
from workflow_src.plan.suites import make_plan
from workflow_src.tables.case_tables import case_tables

ROOT = Path(__file__).parent.parent
MODELS = "tests/brought/models.py"
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"device": "cpu", "profiler": "torch"}


@pytest.fixture(autouse=True)
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def case_of(function: str, folder: Path = ROOT, **axes: Any) -> Brought:
    axes = {name: [value] for name, value in axes.items()}
    workload = {"workload": f"{MODELS}:{function}", "axes": axes}
    (case,) = make_plan(CONFIG | workload, folder / "none").cases
    assert isinstance(case, Brought)
    return case


Made = Callable[[Brought], dict[str, pd.DataFrame]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A case's tables, as its own stages make them, once for all tests of the case."""
    known: dict[str, dict[str, pd.DataFrame]] = {}

    def tables(case: Brought) -> dict[str, pd.DataFrame]:
        if case.case not in known:
            folder = tmp_path_factory.mktemp("brought")
            (folder / "b.json").write_text(json.dumps(benchmark(case, 1, 2)))
            profiled_run(case, 1, 2, folder / "c.kineto.json.gz")
            export(folder / "c.kineto.json.gz", folder / "export")
            known[case.case] = case_tables(folder / "export", folder / "b.json")
        return known[case.case]

    return tables


@pytest.mark.parametrize(
    ("function", "axes", "path"),
    [
        ("mlp", {"width": 8}, "train_step/forward/Linear"),
        ("course", {"context": 8}, "train_step/forward/layers/attn/softmax"),
        ("two_inputs", {}, "train_step/loss/loss (MSELoss)"),
        ("noisy", {}, "train_step/forward/a"),
        ("tagger", {}, "train_step/forward/lstm"),
        ("not_finite", {}, "train_step/loss"),
        ("twins", {"precision": "bf16"}, "train_step/forward/attn/proj"),
        ("evaluating", {}, "train_step/forward/linear1"),
    ],
)
def test_a_brought_model_has_ranges_operators_and_flops_and_obeys_the_laws(
    made: Made, tmp_path: Path, function: str, axes: dict[str, Any], path: str
) -> None:
    case = case_of(function, **axes)
    tables = made(case)
    assert tables["timings"]["status"].tolist() == ["ok"] * 3
    assert path in set(tables["ranges"]["path"])
    assert (tables["captures"]["family_coverage"] == 1).all()
    alignment = tables["alignment"]
    assert alignment["status"].tolist() == ["ok"] * 3
    if function != "two_inputs":  # Its steps differ.
        assert alignment["aligned_share"].min() > 0.99
        known = alignment["flops_counted"].dropna()
        assert known.size >= 2 and (known == alignment["flops"][known.index]).all()
    assert check(joined(tables, case, tmp_path)).to_dict("records") == []


def test_a_product_that_autocast_wraps_is_one_call(made: Made) -> None:
    tables = made(case_of("twins", precision="bf16"))
    kernels = tables["kernels"].query("phase == 'forward' and name == 'aten::addmm'")
    paths = [f"forward/{name}/proj" for name in ("attn", "mlp")]
    assert kernels[["path", "calls_per_step"]].to_numpy().tolist() == [[path, 1] for path in paths]
    rows = tables["operators"].query("phase == 'forward' and operator == 'aten::addmm'")
    assert set(rows["shapes"]) == {"6; 4 x 8; 8 x 6"}
    assert set(rows["dtypes"]) == {"bf16; bf16; bf16"}
    assert rows["bytes_per_step"].tolist() == [2 * (6 + 4 * 8 + 8 * 6 + 4 * 6)] * 2
    assert set(rows["flops_per_step"]) == {2 * 4 * 8 * 6}


def test_a_models_parameters_batch_and_flops_are_in_its_timings(made: Made) -> None:
    """Of an LSTM (8 to 16, two layers) and a linear layer (16 to 4), and of 5 x 3 elements."""
    timings = made(case_of("tagger"))["timings"]
    weights = 4 * 16 * (8 + 16 + 16 + 16)
    assert set(timings["parameters"]) == {weights + 4 * 4 * 16 + 16 * 4 + 4}
    assert set(timings["samples"]) == {2} and set(timings["samples_per_step"]) == {5}
    assert "tokens_per_step" not in timings
    forward = 2 * 15 * (weights + 16 * 4)
    assert timings["counted_flops_per_step"].tolist()[:2] == [forward, 3 * forward]


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        ([torch.zeros(2, 7, dtype=torch.int64)], {"tokens": 14}),
        ([{"mask": None, "ids": torch.zeros(3, 5, dtype=torch.int32)}], {"tokens": 15}),
        ([torch.zeros(4, 3, 8, 8)], {"samples": 4}),
        ([torch.zeros(6, dtype=torch.int64)], {"samples": 6}),
        ([None, "text"], {}),
    ],
)
def test_a_batch_of_whole_numbers_is_of_tokens_and_any_other_of_samples(
    batch: Any, size: dict[str, int]
) -> None:
    assert batch_size(batch) == size


def test_gradients_belong_to_the_modules_of_their_forward_operators(made: Made) -> None:
    operators = made(case_of("course", context=8))["operators"]
    backward = operators[operators["captured_path"] == "forward_backward/backward"]
    assert "forward_backward/forward/layers/ffn/w1" in set(backward["path"])


def test_the_loss_of_a_case_that_is_not_finite_is_recorded(made: Made) -> None:
    (row,) = made(case_of("not_finite"))["environments"].to_dict("records")
    assert row["loss_not_finite"] == "forward_backward; train_step"


def test_without_anything_to_train_the_forward_pass_is_all(made: Made) -> None:
    tables = made(case_of("frozen"))
    assert tables["timings"]["status"].tolist() == ["ok", "skipped", "skipped"]
    assert set(tables["kernels"]["phase"]) == {"forward"}


def test_what_is_compiled_has_ranges_of_phases_alone(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = made(case_of("compiled"))
    ranges = tables["ranges"]
    assert tables["environments"]["compiled"].tolist() == [True]
    assert tables["alignment"]["aligned_share"].min() > 0.99
    assert "what runs under torch.compile has no ranges of modules" in capsys.readouterr().out
    inner = {f"forward_backward/{name}" for name in ("zero_grad", "forward", "backward")}
    found = set(ranges.loc[ranges["phase"] == "forward_backward", "path"])
    assert found == inner | {"forward_backward"}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("refusing", "the function raised ValueError: no such model (models.py, line "),
        ("raising", "a step raised RuntimeError: mat1 and mat2 shapes"),
        ("nothing", "the function must return a Workload(model, batch, loss), not NoneType"),
        ("dict_as_batch", "has batch dict, which must be a tuple of arguments"),
        ("backward_inside", "the loss function called backward() itself; return the loss"),
        ("number_as_loss", "the loss is of type float, not a scalar tensor"),
        ("loss_of_each", "the loss has shape (3, 2), and must be a scalar"),
        ("loss_without_gradient", "the loss has no gradient"),
        ("elsewhere", "the model is on meta, and the device is cpu"),
        ("of_another_model", "the optimizer has none of the model's parameters"),
        ("leaving", "the function raised SystemExit: usage: train.py --data FOLDER"),
    ],
)
def test_a_bad_function_gets_one_sentence(function: str, said: str) -> None:
    with pytest.raises(StageError) as caught:
        measure(case_of(function), 0, 1)
    assert str(caught.value).startswith(f"{MODELS}:{function}: ") and said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_function_that_changes_the_folder_moves_no_result() -> None:
    assert {row["status"] for row in measure(case_of("moving"), 0, 1).values()} == {"ok"}
    assert Path.cwd() == ROOT


@pytest.mark.parametrize(("function", "kept"), [("adagrad", {"step", "sum"}), ("mlp", set())])
def test_a_release_keeps_what_the_optimizers_constructor_made(
    function: str, kept: set[str]
) -> None:
    """Adagrad makes its state there alone, and a step after the release raised KeyError."""
    workload = Workload(case_of(function))
    for _ in range(2):
        workload.train_step()
        workload.release()
        assert {name for each in workload.optimizer.state.values() for name in each} == kept


def test_out_of_memory_is_a_result() -> None:
    statuses = [row["status"] for row in measure(case_of("too_large"), 0, 1).values()]
    assert statuses == ["oom", "skipped", "skipped"]


def test_a_precision_is_set_from_outside_unless_the_function_takes_it() -> None:
    assert Workload(case_of("mlp", precision="bf16")).precision == ""
    outside = Workload(case_of("course", context=8, precision="bf16"))
    assert outside.precision == "bf16"
    assert outside.logits().dtype == torch.bfloat16


def test_hooks_are_there_only_while_a_profiler_may_listen() -> None:
    workload = Workload(case_of("course", context=8))
    modules = list(workload.model.modules())

    def hooks() -> int:
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in modules)

    for phase in PHASES:
        workload.phase(phase)()
    assert hooks() == 0
    named = named_modules(workload.model, 4, r"\.\d+")
    with workload.observed():
        assert hooks() == 2 * len(named)
    assert hooks() == 0


@pytest.mark.nsys
@requires_nsys
def test_under_nsys_ranges_of_modules_stand_among_ranges_of_ones_own(tmp_path: Path) -> None:
    workload = {"workload": f"{MODELS}:with_nvtx", "axes": {}, "profiler": "nsys"}
    made = make_plan(CONFIG | workload, tmp_path)
    capture(made.capture_row(made.case_ids[0]), tmp_path / "c.nsys-rep")
    export(tmp_path / "c.nsys-rep", tmp_path / "export")
    ranges = read_case(tmp_path / "export").ranges
    in_forward = {"train_step/forward", "train_step/forward/mine", "train_step/forward/mine/a"}
    assert in_forward | {"train_step/forward/b"} <= set(ranges["path"])


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc1 = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)


def named(model: torch.nn.Module, depth: int = 4, fold: str = r"\.\d+") -> list[str]:
    return list(dict.fromkeys(named_modules(model, depth, fold).values()))


def test_names_of_repeated_modules_are_folded() -> None:
    layers = torch.nn.Module()
    layers.h = torch.nn.ModuleList(Block() for _ in range(3))
    assert named(layers) == ["h", "norm (LayerNorm)", "fc1"]
    assert named(layers, depth=1) == ["h"]
    assert named(layers, depth=1, fold="") == ["h.0", "h.1", "h.2"]
    assert named(layers, depth=0) == []
    assert named(torch.nn.Sequential(Block(), Block()), depth=1) == ["Block"]
    sequence = torch.nn.Sequential(OrderedDict(a=torch.nn.ReLU(), block_0=Block(), block_1=Block()))
    assert named(sequence, depth=1) == ["a", "Block"]
