"""GeLU and softmax as kernels of their own, to hold against PyTorch's."""


class UnavailableError(RuntimeError):
    """A sentence that says why an implementation can't run on this machine."""
