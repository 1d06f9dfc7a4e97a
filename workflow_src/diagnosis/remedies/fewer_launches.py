"""Launches that become one: chains of elementwise kernels, and a whole step."""

import numpy as np

from workflow_src.common.remedies import counts_in_graph
from workflow_src.diagnosis.edit import Edit, graphed, merged
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.trial import NotKnownError, Trial
from workflow_src.diagnosis.remedies.work import OPTIMIZER

CHAIN_LEFT = Span(0.5, 1.0, 2.0)
"""Of a chain's time over its length, which is that of one kernel that reads first, writes last."""

COMPILED_PRICE = Span(0.2, 0.85, 1.7)
"""Of a launch of compiled code, in launches."""


def fuse_chains(trial: Trial) -> None:
    """The elementwise kernels of a range become one, which reads first and writes last."""
    step = trial.step
    chains = step.chains_outside_core if trial.fused_attention else step.chains
    if not len(step.chains.calls):
        raise NotKnownError("no chain of elementwise kernels is known of it")
    left = np.minimum(1.0, chains.share * trial.value("what fusion leaves", CHAIN_LEFT))
    duration = trial.plan.duration_ns[chains.calls]
    whole_ns = np.bincount(chains.group, duration, minlength=len(left))
    ns = np.rint(left * whole_ns).astype(np.int64)
    trial.change(*merged(trial.plan.recording, chains.calls, chains.group, ns))
    inside = step.where(~step.of("pass", OPTIMIZER))
    trial.change(Edit(inside, gap_factor=trial.value("price of compiled code", COMPILED_PRICE)))


def graph(trial: Trial) -> None:
    """All launches become one."""
    inside = np.ones(len(trial.step.row), dtype=bool)
    if not (trial.about.update_in_graph or counts_in_graph(trial.optimizer)):
        inside[trial.step.where(trial.step.of("pass", OPTIMIZER))] = False
    trial.change(*graphed(trial.plan.recording.calls, np.flatnonzero(inside)))
    trial.extra_launches = 0.0
