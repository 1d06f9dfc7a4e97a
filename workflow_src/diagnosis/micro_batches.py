"""Gradient accumulation: how many forward passes alike a step has, each with a backward pass."""

from collections import Counter
from itertools import pairwise

import numpy as np

from workflow_src.diagnosis.cost import first_counted
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.passes import runs


def micro_batches(subject: Subject) -> float:
    """How many micro batches each step has; nan where no backward pass is told from forward.

    That is forward passes with the same products, each followed by a backward pass, and no update
    by an optimizer's kernels between them. Steps that differ have none.
    """
    every = [run for run in runs(subject) if run.calls[0] >= first_counted(subject.recording)]
    forward = [run for run, after in pairwise(every) if run.forward and not after.forward]
    if not forward:
        return np.nan
    usual, _ = Counter(run.names for run in forward).most_common(1)[0]
    first = [run.calls[0] for run in forward if run.names == usual]
    step = subject.calls["step"].reindex(first)
    counts = step.value_counts()
    updates = subject.work.loc[subject.work["family"] == "optimizer", "call"].to_numpy()
    # Two passes of one step are micro batches only if no update comes between them.
    updated = np.diff(np.searchsorted(np.sort(updates), first)) > 0
    alike = counts.nunique() == 1 and not (updated & (np.diff(step.to_numpy()) == 0)).any()
    return float(counts.iloc[0]) if alike else 1.0
