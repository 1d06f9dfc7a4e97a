"""torch.compile of a whole model: what it takes, into how many graphs, and what it can't do."""

import re
import time
from collections import Counter
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import nn

from workflow_src.measure.rows import LONGEST_REASON, Row, out_of_memory
from workflow_src.measure.timing import Call, run_through
from workflow_src.model.ranges import listening, range_

NO_COMPILER = {
    "cpu": "torch.compile needs a C++ compiler, and there is none",
    "cuda": "torch.compile needs Triton and a C compiler, and one of them is missing",
}
"""By device, why a phase is skipped."""

WITHOUT = ("InvalidCxxCompiler", "TritonMissing", "Failed to find C compiler")
"""In what torch.compile says, or its error's name, where a compiler is missing."""

RANGE = "compiled"
"""The range of what runs under torch.compile, whatever graphs it consists of."""


def empty_caches() -> AbstractContextManager[None]:
    """While inside, nothing compiled before is found, by this run or another."""
    # Imported where something is compiled: it takes seconds.
    from torch._inductor.utils import fresh_cache

    return fresh_cache()


def compile_whole(model: nn.Module) -> None:
    """Have each call of a model run under torch.compile.

    It is one range, and those inside are silent: a compiled graph would either lose them, or be
    compiled again for the profiler that listens.
    """

    # A function of this module, where torch.compile starts: frames of torch.nn it skips, so that of
    # an nn.Sequential nothing would be compiled.
    def call(*given: Any, **named: Any) -> Any:
        return model._call_impl(*given, **named)

    torch.compiler.reset()
    compiled = torch.compile(call)

    def one_range(*given: Any, **named: Any) -> Any:
        with range_(RANGE), listening(None):
            return compiled(*given, **named)

    model._compiled_call_impl = one_range


def refused(run: Call, device: str) -> Row:
    """The status and the reason of a call that torch.compile can't do; empty once it has run.

    "skipped" where a compiler is missing, else "failed". Errors that aren't the compiler's
    propagate, and so does running out of memory.
    """
    from torch._dynamo.exc import TorchDynamoException

    try:
        run()
    except TorchDynamoException as error:
        cause = getattr(error, "inner_exception", error)
        if isinstance(cause, Exception) and out_of_memory(cause):
            raise cause from error
        said = f"{type(cause).__name__}: {cause}"
        if any(each in said for each in WITHOUT):
            return {"status": "skipped", "reason": NO_COMPILER[device]}
        return {"status": "failed", "reason": f"torch.compile: {short(said)}"}
    return {}


EXPLANATION = re.compile(r"^\s*Explanation: (.+)$", re.MULTILINE)


def short(said: str) -> str:
    """What torch.compile explains, else the first line of what it says."""
    found = EXPLANATION.search(said)
    return (found[1] if found else said.strip().partition("\n")[0])[:LONGEST_REASON]


def first_call(step: Call, device: str) -> Row:
    """What the first call of a compiled phase takes, with nothing of it compiled before.

    first_call_ns: until the device has finished, a list of one; break_reasons: why graphs ended. Or
    what `refused` says.
    """
    graphs, reasons = _counted()
    with empty_caches():
        start = time.perf_counter_ns()
        row = refused(partial(run_through, step, device), device)
        taken = time.perf_counter_ns() - start
    graphs_after, reasons_after = _counted()
    found = {"first_call_ns": [taken], "graphs": graphs_after - graphs}
    return row or found | {"break_reasons": list(reasons_after - reasons)}


def _counted() -> tuple[int, Counter[str]]:
    """The graphs that this process has compiled, and how often torch.compile met each reason to end
    one: again in each function that calls the one with the reason."""
    from torch._dynamo.utils import counters

    found: Counter[str] = Counter()
    # Which of the two has a break depends on where it is.
    for kind in ("graph_break", "unimplemented"):
        for said, times in counters[kind].items():
            found[short(said)] += times
    return counters["stats"]["unique_graphs"], found
