"""This project's own softmax in Triton, to compare with PyTorch's."""
