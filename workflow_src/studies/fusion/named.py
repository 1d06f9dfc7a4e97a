"""Operations, their implementations, and their sizes in words."""

from workflow_src.studies.lines import Line

NAMES = {
    "copy": "copy",
    "written_out": "written out",
    "torch": "torch's own",
    "compiled": "torch.compile",
    "triton": "Triton",
    "cuda": "CUDA C++",
}
OPERATIONS = {"gelu": "GeLU", "softmax": "Softmax"}


def operation(line: Line) -> str:
    """A line's operation in words."""
    return OPERATIONS.get(line.text("operation"), line.text("operation"))


def name(line: Line) -> str:
    """A line's implementation in words."""
    return NAMES.get(line.text("implementation"), line.text("implementation"))


def power(elements: float) -> str:
    """A number of elements as text, as a power of two if it is one: 2^20."""
    found = int(elements)
    return f"2^{found.bit_length() - 1}" if found and found & (found - 1) == 0 else f"{found:,}"
