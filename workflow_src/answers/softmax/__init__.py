"""(e) Softmax against the matrix products of attention: time and FLOPs."""
