"""Hugging Face's Trainer."""

from typing import Any

from data_and_model import data, model
from profile_ranges import Capture
from transformers import Trainer, TrainerCallback, TrainingArguments


class CaptureCallback(TrainerCallback):
    """Tells the capture where steps begin."""

    def on_train_begin(self, *_: Any, model: Any, **more: Any) -> None:
        """Begin the first step."""
        self.capture = Capture(model)
        self.capture.next_step()

    def on_step_end(self, *_: Any, **more: Any) -> None:
        """Begin the next step, of the optimizer: with accumulation, of several batches."""
        self.capture.next_step()


def main() -> None:
    """Train for one epoch."""
    arguments = TrainingArguments("trainer", max_steps=15, report_to="none", save_strategy="no")
    Trainer(model(), arguments, train_dataset=data(), callbacks=[CaptureCallback()]).train()


if __name__ == "__main__":
    main()
