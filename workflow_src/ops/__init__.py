"""This project's own GeLU and softmax kernels, to compare with PyTorch's."""


class UnavailableError(RuntimeError):
    """One sentence that says why an implementation can't run on this machine."""
