"""The study `checkpointing`."""
