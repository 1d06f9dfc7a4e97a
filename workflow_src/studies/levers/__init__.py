"""The study `levers`: remedies for a slow training step, predicted, tried and scored."""
