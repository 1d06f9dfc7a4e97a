"""An attention of one's own: in a plan, called as it can be, checked, and blamed."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.package import forget
from tests.workflow import ROOT
from workflow_src.common.case import Case
from workflow_src.common.errors import ConfigError, StageError
from workflow_src.dag.paths import CASE_PATTERN
from workflow_src.measure.own_attention import checked, own_core
from workflow_src.measure.workload import Workload
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.plan.write_plan import as_csv
from workflow_src.studies.points import points

TILES = "examples/own_attention/tiles.py:TiledAttention"
TRITON = "examples/own_attention/triton_tiles.py:TritonAttention"
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"device": "cpu", "profiler": "torch"}

MINE = """
import math, torch

def attention(q, k, v, first_hidden=1):
    context = q.shape[-2]
    future = torch.ones(context, context, dtype=torch.bool).triu(first_hidden)
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf).softmax(-1) @ v

def late(q, k, v):
    return attention(q, k, v, first_hidden=2)

def with_heads(q, k, v):
    batch, heads, context, d = q.shape
    return attention(q, k, v)

def flagged(q, k, v, is_causal=False):
    return attention(q, k, v, first_hidden=1 if is_causal else 10**6)

def forward_only(q, k, v):
    return attention(q, k, v).detach()

in_c = torch._C._nn.scaled_dot_product_attention

def flag_by_name(q, k, v, scale=None, *, causal=False): return flagged(q, k, v, causal)
def unmasked(q, k, v, mask=None): return flagged(q, k, v)

class FlagLate(torch.autograd.Function):
    @staticmethod
    def forward(context, q, k, v, scale, is_causal): ...

class FlagFourth(torch.autograd.Function):
    @staticmethod
    def forward(context, q, k, v, is_causal): return flagged(q, k, v, is_causal)

class FlagFourthWithoutContext(torch.autograd.Function):
    @staticmethod
    def forward(q, k, v, is_causal): return flagged(q, k, v, is_causal)

    @staticmethod
    def setup_context(ctx, inputs, output): ...


def breaks(q, k, v): raise KeyError("mask")
def on_cpu(q, k, v): raise RuntimeError("0 active drivers ([]). There should only be one.")
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def planned(*attentions: str, folder: Path) -> Plan:
    suite = {"sizes": ["tiny"], "contexts": [32], "attentions": list(attentions)}
    return make_plan(CONFIG | {"suites": {"s": suite}, "suite": "s"}, folder)


def test_a_plan_has_it_beside_others_whose_rows_stay_as_they_were(mine: Path) -> None:
    plan = planned("naive", f"{mine}:late", folder=mine.parent)
    assert plan.case_ids == ["tiny-ctx32-fp32", "tiny-ctx32-fp32-mine.late"]
    assert all(re.fullmatch(CASE_PATTERN, name) for name in plan.case_ids)
    alone = planned("naive", folder=mine.parent)
    first, second = map(plan.benchmark_row, plan.case_ids)
    assert first == alone.benchmark_row("tiny-ctx32-fp32")
    assert second["attention"] == f"{mine}:late" and len(second["attention_code"]) == 12
    assert as_csv(plan.rows()).splitlines()[0].endswith(",attention_code")


def test_only_what_the_file_does_measures_its_case_and_its_point_again(mine: Path) -> None:
    def codes() -> tuple[Any, Any]:
        forget()
        plan = planned(f"{mine}:late", folder=mine.parent)
        found = points("attention", "cpu", "small", plan.settings)
        (point,) = (each for each in found if each["point"] == "own-mine.late")
        return plan.benchmark_row(plan.case_ids[0])["attention_code"], point["code"]

    before = codes()
    mine.write_text(f"# A comment.\n{MINE}")
    assert codes() == before
    mine.write_text(MINE.replace("first_hidden=2", "first_hidden=3"))
    assert all(new != old for new, old in zip(codes(), before, strict=True))


@pytest.mark.parametrize(
    ("attention", "said"),
    [
        ("nave", "'nave' is not one of naive, fused_softmax, triton_softmax, sdpa, file.py:"),
        ("gone.py:f", "s.attentions: 'gone.py:f': there is no file gone.py"),
    ],
)
def test_what_is_no_attention_is_refused_before_anything_runs(
    attention: str, said: str, mine: Path
) -> None:
    with pytest.raises(ConfigError) as error:
        planned(attention.format(mine=mine), folder=mine.parent)
    assert said.format(mine=mine) in str(error.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["attention", "with_heads", "flagged", "flag_by_name", TILES])
def test_a_right_one_is_right_in_every_layout_and_type(
    name: str, dtype: torch.dtype, mine: Path
) -> None:
    where = name if name == TILES else f"{mine}:{name}"
    _, errors = checked(where, 256, 16, "cpu", dtype)
    assert list(errors) == ["out", "dq", "dk", "dv"]
    # Within 8 unit roundoffs of the type itself, where 8 of TF32 are allowed in float32.
    roundoff = {torch.float32: 2**-21, torch.bfloat16: 2**-8, torch.float16: 2**-11}[dtype]
    assert max(errors.values()) < 8 * roundoff


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("late", "on (batch, T, d) or (batch, heads, T, d) its error is 0.35 in out, "),
        ("unmasked", "is allowed, but it is right without a causal mask"),
        ("breaks", "it raised KeyError: 'mask' (mine.py, line "),
        (
            "on_cpu",
            "Triton found no GPU: on a CPU, set the environment variable TRITON_INTERPRET=1",
        ),
        ("FlagLate", "missing 2 required positional arguments: 'scale' and 'is_causal'"),
        ("in_c", "its error is"),
    ],
)
def test_a_wrong_one_is_one_sentence_that_says_how_far_off_it_is(
    name: str, said: str, mine: Path
) -> None:
    context = 256 if name == "late" else 64
    with pytest.raises(StageError) as error:
        checked(f"{mine}:{name}", context, 16, "cpu", torch.bfloat16)
    assert str(error.value).startswith(f"{mine}:{name}: ") and said in str(error.value)
    assert name != "late" or str(error.value).endswith("where 0.031 is allowed")


@pytest.mark.parametrize("name", ["forward_only", "FlagFourth", "FlagFourthWithoutContext"])
def test_one_without_a_backward_pass_is_checked_forward(name: str, mine: Path) -> None:
    assert list(checked(f"{mine}:{name}", 64, 16, "cpu", torch.float32)[1]) == ["out"]


def case(attention: str, precision: str = "fp32") -> Case:
    sizes = {"d_model": 32, "d_ff": 64, "layers": 1, "heads": 2, "vocabulary": 50}
    axes = {"batch": 2, "context": 16, "precision": precision, "optimizer": "adamw"}
    return Case("c", "s", **sizes, **axes, attention=attention, device="cpu")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_model_with_it_has_the_logits_and_gradients_of_the_written_out_one(
    precision: str, mine: Path
) -> None:
    own, plain = (Workload(case(each, precision)) for each in (TILES, "naive"))
    own.train_step()
    plain.train_step()
    tolerance = 1e-5 if precision == "fp32" else 3e-2
    assert torch.allclose(own.logits(), plain.logits(), atol=tolerance, rtol=tolerance)


def test_one_without_a_backward_pass_is_no_part_of_a_model(mine: Path) -> None:
    with pytest.raises(StageError, match="it has no backward pass"):
        own_core(case(f"{mine}:forward_only"))


@pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") != "1", reason="runs in Triton's interpreter"
)
def test_a_kernel_of_tritons_is_right_in_its_interpreter() -> None:
    """Which can't multiply in bfloat16."""
    assert checked(TRITON, 100, 16, "cpu", torch.float16)[1]["dq"] < 2**-9
