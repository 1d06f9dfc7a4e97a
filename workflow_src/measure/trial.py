"""A brought function tried on tensors without data, for mistakes that no device is needed to see.

It runs in a process of its own, so that a measurement doesn't find what it left.
"""

import os
import select
import signal
import sys
from dataclasses import replace

import torch

from workflow_src.common.case import AnyCase, Brought
from workflow_src.common.errors import StageError
from workflow_src.measure.brought import blamed, checked_loss, function_of, made

NOWHERE = "meta"
"""Torch's device of tensors without data."""

LONGEST_S = 60.0

PLAIN = (TypeError, AttributeError, NameError, ImportError)
"""Errors of the code itself. Others may come of tensors that have no data."""


def try_without_device(case: AnyCase) -> None:
    """Say what is wrong with a brought function before its turn on a device comes.

    Raises StageError for a CPU. On another device, which it may ask for, it prints a note.
    """
    problem = _tried(replace(case, device=NOWHERE)) if isinstance(case, Brought) else ""
    if problem and case.device == "cpu":
        raise StageError(problem)
    if problem:
        print(f"note: tried without data, {problem}", file=sys.stderr, flush=True)


def _tried(case: Brought) -> str:
    """What `_problem` finds, in another process; "" if that takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, _quietly(case).encode()[: select.PIPE_BUF])
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as said:
        ended, _, _ = select.select([said], [], [], LONGEST_S)
        problem = said.read() if ended else ""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return problem


def _quietly(case: Brought) -> str:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return _problem(case)


def _problem(case: Brought) -> str:
    """What is wrong with a function whatever its tensors hold; "" if nothing is, or it can't run
    without data.
    """
    try:
        with torch.device(NOWHERE):
            found = made(case, function_of(case.workload))
            if any(each.requires_grad for each in found.model.parameters()):
                with blamed(case, "a step"):
                    checked_loss(case, found.loss(found.model, *found.batch), found.model)
    except StageError as error:
        is_sure = isinstance(error.__cause__, (*PLAIN, type(None))) and NOWHERE not in str(error)
        return str(error) if is_sure else ""
    except BaseException:
        return ""
    return ""
