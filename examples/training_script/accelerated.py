"""A loop with accelerate: one's own, but for what prepares the model and calls backward."""

import torch
from accelerate import Accelerator
from data_and_model import loader, model
from profile_ranges import Capture


def main() -> None:
    """Train for one epoch."""
    accelerator = Accelerator()
    network = model()
    network, optimizer, batches = accelerator.prepare(
        network, torch.optim.AdamW(network.parameters()), loader()
    )
    capture = Capture(network)
    for batch in capture.steps(batches):
        loss = network(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
