"""GeLU and softmax as kernels of our own, to compare with PyTorch's."""


class UnavailableError(RuntimeError):
    """A sentence that says why an implementation can't run on this machine."""
