"""How long training takes, and how large a model may be: the two estimates of the calculator."""

from workflow_src.model.memory_formulas import STATE_BYTES

STEP_FLOPS = 6
"""FLOPs per parameter and token: 2 forward, 4 backward (Kaplan et al. 2020, section 2.1)."""


def train_seconds(
    parameters: float, tokens: float, devices: float, peak_flops: float, mfu: float
) -> float:
    """Seconds to train: 6 N T / (G x peak x MFU); peak in FLOP/s of one device."""
    return STEP_FLOPS * parameters * tokens / (devices * peak_flops * mfu)


def largest_parameters(memory_bytes: float, activation_bytes: float) -> int:
    """Number of parameters that fit with AdamW: (memory - activations) / 16 bytes, rounded down.

    Raises ValueError if activations leave no memory.
    """
    if activation_bytes >= memory_bytes:
        raise ValueError("activations leave no memory for the model")
    return int((memory_bytes - activation_bytes) // STATE_BYTES)
