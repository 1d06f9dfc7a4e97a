"""FLOPs of a step by torch's own counter, for models that no formula of ours describes."""

from collections.abc import Callable

from torch.utils.flop_counter import FlopCounterMode


def counted_flops(step: Callable[[], object]) -> dict[str, int]:
    """FLOPs of one step by operator, as the profiler spells them: {"aten::mm": 4096}.

    Only of operators that the counter knows: products, convolutions, fused attention.
    """
    with FlopCounterMode(display=False) as counter:
        step()
    found = counter.get_flop_counts().get("Global", {})
    return {str(operator).replace(".", "::", 1): int(flops) for operator, flops in found.items()}
