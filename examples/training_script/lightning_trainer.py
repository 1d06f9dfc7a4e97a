"""Lightning's Trainer."""

from typing import Any

import pytorch_lightning as lightning
import torch
from data_and_model import loader, model
from profile_ranges import Capture


class CaptureCallback(lightning.Callback):
    """Tells the capture where steps begin."""

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Begin the first step."""
        self.capture = Capture(module, depth=3)
        self.capture.wrap(module, "training_step", "training_step")
        self.capture.next_step()

    def on_train_batch_end(self, *_: Any) -> None:
        """Begin the next step."""
        self.capture.next_step()


class Module(lightning.LightningModule):
    """A model and its optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.model = model()

    def training_step(self, batch: dict[str, torch.Tensor], number: int) -> torch.Tensor:
        """The loss of a batch."""
        return self.model(**batch).loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW."""
        return torch.optim.AdamW(self.parameters())


def main() -> None:
    """Train for one epoch."""
    off = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_steps=15, devices=1, callbacks=[CaptureCallback()], **off)
    trainer.fit(Module(), loader())


if __name__ == "__main__":
    main()
