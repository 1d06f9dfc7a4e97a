"""The studies' words and pictures: for each, what it asks, and the functions that answer it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.paper.show import Headline
from workflow_src.studies.accounting.figure import draw as draw_accounting
from workflow_src.studies.accounting.headline import headline as accounting_headline
from workflow_src.studies.accounting.result import result as accounting_result
from workflow_src.studies.attention.figure import draw as draw_attention
from workflow_src.studies.attention.headline import headline as attention_headline
from workflow_src.studies.attention.result import result as attention_result
from workflow_src.studies.checkpointing.figure import draw as draw_checkpointing
from workflow_src.studies.checkpointing.headline import headline as checkpointing_headline
from workflow_src.studies.checkpointing.result import result as checkpointing_result
from workflow_src.studies.flash.figure import draw as draw_flash
from workflow_src.studies.flash.headline import headline as flash_headline
from workflow_src.studies.flash.result import result as flash_result
from workflow_src.studies.fusion.figure import draw as draw_fusion
from workflow_src.studies.fusion.headline import headline as fusion_headline
from workflow_src.studies.fusion.result import result as fusion_result
from workflow_src.studies.levers.figure import draw as draw_levers
from workflow_src.studies.levers.headline import headline as levers_headline
from workflow_src.studies.levers.result import result as levers_result
from workflow_src.studies.matmul.figure import draw as draw_matmul
from workflow_src.studies.matmul.headline import headline as matmul_headline
from workflow_src.studies.matmul.result import result as matmul_result
from workflow_src.studies.memory.figure import draw as draw_memory
from workflow_src.studies.memory.headline import headline as memory_headline
from workflow_src.studies.memory.result import result as memory_result
from workflow_src.studies.mlp.figure import draw as draw_mlp
from workflow_src.studies.mlp.headline import headline as mlp_headline
from workflow_src.studies.mlp.result import result as mlp_result
from workflow_src.studies.precision.figure import draw as draw_precision
from workflow_src.studies.precision.headline import headline as precision_headline
from workflow_src.studies.precision.result import result as precision_result
from workflow_src.studies.profiler.figure import draw as draw_profiler
from workflow_src.studies.profiler.headline import headline as profiler_headline
from workflow_src.studies.profiler.result import result as profiler_result
from workflow_src.studies.ranks.figure import draw as draw_ranks
from workflow_src.studies.ranks.headline import headline as ranks_headline
from workflow_src.studies.ranks.result import result as ranks_result
from workflow_src.studies.warmup.figure import draw as draw_warmup
from workflow_src.studies.warmup.headline import headline as warmup_headline
from workflow_src.studies.warmup.result import result as warmup_result

R = TypeVar("R")


@dataclass(frozen=True)
class Study(Generic[R]):
    """A study's title, the question of a reader who knows nothing of it, and its functions.

    result: from the study's table and the run's ceilings (empty unless JUDGED has the study) to a
    frozen dataclass; headline: the verdict on that; draw: the figure of the table.
    """

    title: str
    question: str
    result: Callable[[pd.DataFrame, pd.DataFrame], R]
    headline: Callable[[R], Headline]
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study[Any]] = {
    "profiler": Study(
        "Profiler: what watching costs",
        "How much longer does a forward pass take because it is profiled?",
        profiler_result,
        profiler_headline,
        draw_profiler,
    ),
    "warmup": Study(
        "Warm-up: what the first steps of a process cost",
        "How much slower are the first steps of a process, and how many must an average leave out?",
        warmup_result,
        warmup_headline,
        draw_warmup,
    ),
    "precision": Study(
        "Mixed precision: rounding, types and time",
        "What does a 16-bit type cost in accuracy, and what does it gain in time?",
        precision_result,
        precision_headline,
        draw_precision,
    ),
    "attention": Study(
        "Attention: written out, compiled and fused, over context and head size",
        "Which attention is fastest at which context, and what does it do to memory?",
        attention_result,
        attention_headline,
        draw_attention,
    ),
    "fusion": Study(
        "Operator fusion: GeLU and softmax, written out and as one kernel",
        "What does an operation gain from one kernel instead of one per step of its formula?",
        fusion_result,
        fusion_headline,
        draw_fusion,
    ),
    "matmul": Study(
        "Matrix multiplication: rate over size, and the cost of awkward sizes",
        "How fast are square matrix products, and what does an awkward size cost?",
        matmul_result,
        matmul_headline,
        draw_matmul,
    ),
    "mlp": Study(
        "MLP scaling: a step's time against its FLOPs",
        "Does a training step take longer as its FLOPs grow, and by as much?",
        mlp_result,
        mlp_headline,
        draw_mlp,
    ),
    "accounting": Study(
        "Accounting: FLOPs, memory, utilization and the roofline",
        "How right are formulas for FLOPs and memory, and what rate does a whole pass reach?",
        accounting_result,
        accounting_headline,
        draw_accounting,
    ),
    "flash": Study(
        "An attention of one's own: right, and as fast as PyTorch's?",
        "How fast is an attention of one's own beside PyTorch's, and what limits them?",
        flash_result,
        flash_headline,
        draw_flash,
    ),
    "memory": Study(
        "Memory: what is held when, by what, and what fits",
        "How much memory does a training step take at its peak, where, and for what?",
        memory_result,
        memory_headline,
        draw_memory,
    ),
    "checkpointing": Study(
        "Checkpointing: memory saved, and what is computed twice for it",
        "How many blocks should a checkpoint cover, and what does it cost?",
        checkpointing_result,
        checkpointing_headline,
        draw_checkpointing,
    ),
    "ranks": Study(
        "Two GPUs: what communication costs",
        "What does communication cost a training step on two GPUs, and what hides it?",
        ranks_result,
        ranks_headline,
        draw_ranks,
    ),
    "levers": Study(
        "What to change first: remedies predicted, tried, and scored",
        "Which change to a training step pays, what pays after it, and how well was it predicted?",
        levers_result,
        levers_headline,
        draw_levers,
    ),
}
"""The studies by name; the report's order is that of STUDIES in study.py."""
