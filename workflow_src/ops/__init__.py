"""This project's own GeLU and softmax kernels, to compare with PyTorch's."""
